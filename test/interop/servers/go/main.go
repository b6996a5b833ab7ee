// An agent served with the published Go library over all of its bindings: JSON-RPC, HTTP+JSON and gRPC.
//
// Prints the URL of its HTTP server when it is ready. The first word of a message selects the action. An argument is
// the key that callers need. With it, the agent also sends push notifications and has a card for callers with the key.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type agent struct{}

func (agent) Execute(ctx context.Context, turn *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, event := range events(ctx, turn) {
			if !yield(event(), nil) {
				return
			}
		}
	}
}

func (agent) Cancel(_ context.Context, turn *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(turn, a2a.TaskStateCanceled, nil), nil)
	}
}

// Returns functions that make the events, each of which may wait first.
func events(ctx context.Context, turn *a2asrv.ExecutorContext) []func() a2a.Event {
	words := strings.Fields(turn.Message.Parts[0].Text())
	rest := strings.Join(words[1:], " ")
	status := func(state a2a.TaskState, text string) func() a2a.Event {
		return func() a2a.Event {
			if text == "" {
				return a2a.NewStatusUpdateEvent(turn, state, nil)
			}
			return a2a.NewStatusUpdateEvent(turn, state, a2a.NewMessageForTask(a2a.MessageRoleAgent, turn, a2a.NewTextPart(text)))
		}
	}
	artifact := func(name, text string) func() a2a.Event {
		return func() a2a.Event {
			event := a2a.NewArtifactEvent(turn, a2a.NewTextPart(text))
			event.Artifact.Name = name
			return event
		}
	}
	working, completed := status(a2a.TaskStateWorking, ""), status(a2a.TaskStateCompleted, "")
	if turn.StoredTask != nil {
		return []func() a2a.Event{artifact("answer", strings.Join(words, " ")), completed}
	}
	if words[0] == "say" {
		return []func() a2a.Event{func() a2a.Event { return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(rest)) }}
	}
	created := func() a2a.Event { return a2a.NewSubmittedTask(turn, turn.Message) }
	switch words[0] {
	case "ask":
		return []func() a2a.Event{created, status(a2a.TaskStateInputRequired, "What do you mean?")}
	case "fail":
		return []func() a2a.Event{created, status(a2a.TaskStateFailed, "It did not work.")}
	case "wait":
		ended := func() a2a.Event { pause(ctx, words[1]); return completed() }
		return []func() a2a.Event{created, working, ended}
	case "stream":
		list := []func() a2a.Event{created, working}
		count, _ := strconv.Atoi(words[1])
		for i := range count {
			list = append(list, func() a2a.Event {
				pause(ctx, words[2])
				event := a2a.NewArtifactUpdateEvent(turn, "pieces", a2a.NewTextPart(fmt.Sprintf("%d ", i+1)))
				event.Append = i > 0
				event.LastChunk = i+1 == count
				event.Artifact.Name = "pieces"
				return event
			})
		}
		return append(list, completed)
	default:
		return []func() a2a.Event{created, working, artifact("echo", rest), completed}
	}
}

func pause(ctx context.Context, millis string) {
	ms, _ := strconv.Atoi(millis)
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(ms) * time.Millisecond):
	}
}

// Returns an error if a key is required and the caller lacks it.
func hasKey(ctx context.Context, key string) error {
	fields, _ := metadata.FromIncomingContext(ctx)
	if sent := fields.Get("x-api-key"); key == "" || len(sent) == 1 && sent[0] == key {
		return nil
	}
	return status.Error(codes.Unauthenticated, "There is no key.")
}

func guarded(key string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key == "" || r.Header.Get("X-Api-Key") == key {
			handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"There is no key."}}`)
	})
}

func guardedServer(key string) *grpc.Server {
	return grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := hasKey(ctx, key); err != nil {
				return nil, err
			}
			return next(ctx, in)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := hasKey(stream.Context(), key); err != nil {
				return err
			}
			return next(srv, stream)
		}),
	)
}

func main() {
	key := ""
	if len(os.Args) > 1 {
		key = os.Args[1]
	}
	// Without a caller's name, the library's store lists nothing.
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: func(context.Context) (string, error) { return "anybody", nil },
	})
	options := []a2asrv.RequestHandlerOption{a2asrv.WithTaskStore(store)}
	var card *a2a.AgentCard
	if key != "" {
		extended := func(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
			more := *card
			more.Name = "Foreign, and more"
			return &more, nil
		}
		options = append(options,
			a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)),
			a2asrv.WithExtendedAgentCardProducer(a2asrv.ExtendedAgentCardProducerFn(extended)),
		)
	}
	handler := a2asrv.NewHandler(agent{}, options...)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	url := "http://" + web.Addr().String()
	card = &a2a.AgentCard{
		Name:        "Foreign",
		Description: "Does what the first word says.",
		Version:     "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(url+"/rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(url+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(rpc.Addr().String(), a2a.TransportProtocolGRPC),
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true, PushNotifications: key != "", ExtendedAgentCard: key != ""},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "do", Name: "Do", Description: "Does it.", Tags: []string{"test"}}},
	}
	if key != "" {
		scheme := a2a.APIKeySecurityScheme{Location: a2a.APIKeySecuritySchemeLocationHeader, Name: "X-Api-Key"}
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"key": scheme}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"key": {}}}
	}
	grpcServer := guardedServer(key)
	a2agrpc.NewHandler(handler).RegisterWith(grpcServer)
	go func() { log.Fatal(grpcServer.Serve(rpc)) }()
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/rpc", guarded(key, a2asrv.NewJSONRPCHandler(handler)))
	mux.Handle("/rest/", guarded(key, http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler))))
	fmt.Println(url)
	log.Fatal(http.Serve(web, mux))
}
