package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Returns the answers of an agent that requires a key, with and without it. The library reads from the card where to
// send the key.
func known(ctx context.Context, url string, binding a2a.TransportProtocol, key, hook string) (map[string]any, error) {
	seen := map[string]any{}
	card, err := agentcard.DefaultResolver.Resolve(ctx, url)
	if err != nil {
		seen["card"] = err.Error()
		if card, err = cardInItsForm(url); err != nil {
			return nil, err
		}
	}
	store := a2aclient.NewInMemoryCredentialsStore()
	store.Set("known", "key", a2aclient.AuthCredential(key))
	client, err := a2aclient.NewFromCard(ctx, card,
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
		a2aclient.WithCallInterceptors(&a2aclient.AuthInterceptor{Service: store}),
	)
	if err != nil {
		return nil, err
	}
	defer client.Destroy()
	stranger := ctx
	ctx = a2aclient.AttachSessionID(ctx, "known")

	_, err = client.SendMessage(stranger, say("echo hello"))
	seen["stranger"] = reason(err)
	result, err := client.SendMessage(ctx, say("echo hello"))
	seen["send"] = shown(result, err)
	seen["stream"] = kinds(client.SendStreamingMessage(ctx, say("stream 3 4")))
	extended, err := client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		seen["extended"] = reason(err)
	} else {
		seen["extended"] = extended.Name
	}

	asked, err := client.SendMessage(ctx, say("ask Which colour?"))
	if err != nil {
		return nil, err
	}
	id := asked.TaskInfo().TaskID
	made, err := client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: id, ID: "mine", URL: hook, Token: "go-token"})
	seen["created"] = shown(made, err)
	got, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "mine"})
	seen["got"] = shown(got, err)
	listed, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: id})
	seen["listed"] = shown(listed, err)
	// Creates another configuration, because the deletion of a webhook drops its waiting events.
	_, err = client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: id, ID: "other", URL: hook})
	if err != nil {
		return nil, err
	}
	seen["deleted"] = reason(client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: id, ID: "other"}))
	_, err = client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "other"})
	seen["gone"] = reason(err)
	result, err = client.SendMessage(ctx, say("Blue.", func(m *a2a.Message) { m.TaskID = id }))
	seen["answer"] = shown(result, err)
	return seen, nil
}

// Returns the card in the library's form: a list of scopes in place of the contract's object with a list.
func cardInItsForm(url string) (*a2a.AgentCard, error) {
	response, err := http.Get(url + "/.well-known/agent-card.json")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	text = regexp.MustCompile(`\{"list":(\[[^\]]*\])\}`).ReplaceAll(text, []byte("$1"))
	text = regexp.MustCompile(`\{"key":\{\}\}`).ReplaceAll(text, []byte(`{"key":[]}`))
	card := &a2a.AgentCard{}
	return card, json.Unmarshal(text, card)
}
