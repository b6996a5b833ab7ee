// Verifies a signed card with Go's libraries, and signs one. a2a-go 2.3 reads a card's signatures, but cannot make or
// verify them, so Go's libraries for JOSE (go-jose) and RFC 8785 (gowebpki/jcs) do.
//
//	card-signing <url of the server> <file of a private key, PKCS #8>
package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"
)

var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA}

type signature struct {
	Protected string `json:"protected"`
	Signature string `json:"signature"`
}

func main() {
	url, file := os.Args[1], os.Args[2]
	var keys jose.JSONWebKeySet
	must(json.Unmarshal(get(url+"/.well-known/jwks.json"), &keys))
	card := map[string]any{}
	must(json.Unmarshal(get(url+"/.well-known/agent-card.json"), &card))
	var signatures []signature
	list, err := json.Marshal(card["signatures"])
	must(err)
	must(json.Unmarshal(list, &signatures))
	// The served card already follows the rules of presence in section 8.4.1.
	delete(card, "signatures")

	// Checks that the library's client reads the same signatures.
	resolved, err := agentcard.DefaultResolver.Resolve(context.Background(), url)
	must(err)
	seen := 0
	for i, each := range resolved.Signatures {
		if each.Protected == signatures[i].Protected && each.Signature == signatures[i].Signature {
			seen++
		}
	}

	verified := map[string]bool{}
	for _, each := range signatures {
		verified[algorithmOf(each)] = verify(card, each, keys)
	}
	name := card["name"]
	card["name"] = "Other"
	tampered := verify(card, signatures[0], keys)
	card["name"] = name

	signed := sign(card, file)
	out, err := json.Marshal(map[string]any{"seen": seen, "verified": verified, "tampered": tampered, "signed": signed})
	must(err)
	fmt.Println(string(out))
}

func algorithmOf(each signature) string {
	var header struct{ Alg string }
	text, err := base64.RawURLEncoding.DecodeString(each.Protected)
	must(err)
	must(json.Unmarshal(text, &header))
	return header.Alg
}

func canonical(card map[string]any) []byte {
	text, err := json.Marshal(card)
	must(err)
	payload, err := jcs.Transform(text)
	must(err)
	return payload
}

func verify(card map[string]any, each signature, keys jose.JSONWebKeySet) bool {
	jws, err := jose.ParseDetached(each.Protected+".."+each.Signature, canonical(card), algorithms)
	must(err)
	_, err = jws.Verify(keys)
	return err == nil
}

func sign(card map[string]any, file string) map[string]any {
	text, err := os.ReadFile(file)
	must(err)
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	must(err)
	options := (&jose.SignerOptions{}).WithType("JOSE").WithHeader("kid", "go")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	must(err)
	jws, err := signer.Sign(canonical(card))
	must(err)
	var made signature
	must(json.Unmarshal([]byte(jws.FullSerialize()), &made))
	signed := map[string]any{}
	for name, value := range card {
		signed[name] = value
	}
	signed["signatures"] = []signature{made}
	return signed
}

func get(url string) []byte {
	answer, err := http.Get(url)
	must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(err)
	return body
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
