// Asks the package receiver about each line of the standard input; see cases.ts for the form of a line.
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"example.test/receiver"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var fields []string
		for _, field := range strings.Fields(lines.Text()) {
			text, err := base64.StdEncoding.DecodeString(field[1:])
			if err != nil {
				panic(err)
			}
			fields = append(fields, string(text))
		}
		now, err := strconv.ParseInt(fields[4], 10, 64)
		if err != nil {
			panic(err)
		}
		genuine, err := receiver.Genuine(fields[0], fields[1], fields[2], fields[3], []byte(fields[5]), time.Unix(now, 0))
		switch {
		case err != nil:
			fmt.Println("no secret")
		case genuine:
			fmt.Println("genuine")
		default:
			fmt.Println("refused")
		}
	}
}
