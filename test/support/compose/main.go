// Loads compose files with compose's own library and prints the project as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	envFile, files := os.Args[1], os.Args[2:]
	options, err := cli.NewProjectOptions(files,
		cli.WithEnvFiles(envFile), cli.WithDotEnv, cli.WithProfiles([]string{"*"}), cli.WithName("loaded"))
	if err == nil {
		project, failed := options.LoadProject(context.Background())
		if failed == nil {
			failed = json.NewEncoder(os.Stdout).Encode(project)
		}
		err = failed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
