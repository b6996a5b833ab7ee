module parley.test/card-signing

go 1.25.0

require (
	github.com/a2aproject/a2a-go/v2 v2.3.1
	github.com/go-jose/go-jose/v4 v4.1.8
	github.com/gowebpki/jcs v1.0.2
)

require github.com/google/uuid v1.6.0 // indirect
