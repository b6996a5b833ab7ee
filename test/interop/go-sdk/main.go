// Calls a server with the published Go library. Finds it by the URL of its card.
//
// Prints a JSON object with the result of each step by name. The caller judges the results.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	run := func() (map[string]any, error) { return steps(ctx, os.Args[1], a2a.TransportProtocol(os.Args[2])) }
	if len(os.Args) > 4 {
		run = func() (map[string]any, error) {
			return known(ctx, os.Args[1], a2a.TransportProtocol(os.Args[2]), os.Args[3], os.Args[4])
		}
	}
	seen, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		panic(err)
	}
}

func steps(ctx context.Context, url string, binding a2a.TransportProtocol) (map[string]any, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, url)
	if err != nil {
		return nil, err
	}
	client, err := a2aclient.NewFromCard(ctx, card,
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
	)
	if err != nil {
		return nil, err
	}
	defer client.Destroy()
	seen := map[string]any{}
	context := "go " + string(binding)

	send := func(name string, request *a2a.SendMessageRequest) a2a.TaskID {
		result, err := client.SendMessage(ctx, request)
		seen[name] = shown(result, err)
		if task, ok := result.(*a2a.Task); ok {
			return task.ID
		}
		return ""
	}
	done := send("send", say("echo hello", func(m *a2a.Message) { m.ContextID = context }))
	send("reply", say("say hi"))
	send("parts", &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser,
		a2a.NewRawPart([]byte{0, 1, 254, 255}), a2a.NewDataPart(map[string]any{"number": 1.5, "deep": []any{nil, true, "ü"}}))})
	seen["stream"] = kinds(client.SendStreamingMessage(ctx, say("stream 3 4")))

	task, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: done})
	seen["get"] = shown(task, err)
	// Over gRPC, the library sends a page size of 0 by default.
	page, err := client.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: context})
	seen["list"] = shown(page, err)

	asking := send("ask", say("ask Which colour?"))
	send("answer", say("Blue.", func(m *a2a.Message) { m.TaskID = asking }))

	waiting := say("wait 20000")
	waiting.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	id := send("wait", waiting)
	var states []any
	for event, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		if err != nil {
			states = append(states, reason(err))
			break
		}
		if task, ok := event.(*a2a.Task); ok {
			canceled, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			seen["cancel"] = shown(canceled, err)
		}
		if update, ok := event.(*a2a.TaskStatusUpdateEvent); ok {
			states = append(states, update.Status.State)
		}
	}
	seen["watched"] = states

	_, err = client.GetTask(ctx, &a2a.GetTaskRequest{ID: "nobody"})
	seen["unknown"] = reason(err)
	_, err = client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: done})
	seen["tooLate"] = reason(err)
	_, err = client.SendMessage(ctx, say("more", func(m *a2a.Message) { m.TaskID = done }))
	seen["over"] = reason(err)
	_, err = client.SendMessage(ctx, say("x", func(m *a2a.Message) { m.ID = "" }))
	seen["invalid"] = reason(err)
	_, err = client.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 1000})
	seen["pageTooLarge"] = reason(err)
	seen["noStream"] = kinds(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: done}))
	seen["noTask"] = kinds(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "nobody"}))
	seen["badStream"] = kinds(client.SendStreamingMessage(ctx, say("x", func(m *a2a.Message) { m.ID = "" })))
	return seen, nil
}

func say(text string, changes ...func(*a2a.Message)) *a2a.SendMessageRequest {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	for _, change := range changes {
		change(message)
	}
	return &a2a.SendMessageRequest{Message: message}
}

func shown(value any, err error) any {
	if err != nil {
		return reason(err)
	}
	return value
}

// Returns the library's reason for an error, with its message.
func reason(err error) any {
	if err == nil {
		return nil
	}
	return map[string]any{"reason": a2a.ErrorReason(err), "message": err.Error()}
}

// Returns the kinds of a stream's events, or the error that ended it.
func kinds(events iter.Seq2[a2a.Event, error]) []any {
	all := []any{}
	for event, err := range events {
		if err != nil {
			return append(all, reason(err))
		}
		switch event.(type) {
		case *a2a.Task:
			all = append(all, "task")
		case *a2a.TaskStatusUpdateEvent:
			all = append(all, "statusUpdate")
		case *a2a.TaskArtifactUpdateEvent:
			all = append(all, "artifactUpdate")
		default:
			all = append(all, "message")
		}
	}
	return all
}
