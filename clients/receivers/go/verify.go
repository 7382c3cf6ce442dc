// Package receiver answers: is this webhook from the bridge? Standard Webhooks, scheme v1, with nothing but Go.
package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// Clocks may differ by this much, and a request may not be older.
	toleranceSeconds = 300
	// A shorter secret is none, e.g. a setting that is empty.
	shortestSecretBytes = 24
)

var wholeSeconds = regexp.MustCompile(`^[0-9]{1,12}$`)

// Genuine takes the secret as the bridge gave it (whsec_…), the three headers ("" where one is missing) and the body as
// it came, before anything parses it. The error says that the secret is none.
func Genuine(secret, id, timestamp, signature string, body []byte, now time.Time) (bool, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < shortestSecretBytes {
		return false, errors.New("the webhook secret is missing or cut")
	}
	if id == "" || !wholeSeconds.MatchString(timestamp) {
		return false, nil
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	if age := now.Unix() - seconds; age > toleranceSeconds || age < -toleranceSeconds {
		return false, nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// One for each secret: two while a secret is being replaced.
	for _, given := range strings.Split(signature, " ") {
		if hmac.Equal([]byte(given), expected) {
			return true, nil
		}
	}
	return false, nil
}
