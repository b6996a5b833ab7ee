// Calls an agent with the client that is generated from the contract.
//
//	go run . localhost:50051
//
// With TOKEN in the environment it shows that token with each call.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	a2a "example.com/agents/gen/lf/a2a/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The extension with which a stream goes on exactly where it was cut.
const resume = "urn:parley:ext:resume:v1"

func main() {
	if err := tour(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func tour(address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := a2a.NewA2AServiceClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if token := os.Getenv("TOKEN"); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}

	sent, err := client.SendMessage(ctx, say("echo hello", ""))
	if err != nil {
		return err
	}
	task := sent.GetTask()
	fmt.Println("send:", task.GetStatus().GetState(), task.GetArtifacts()[0].GetParts()[0].GetText())

	text, _, err := read(client.SendStreamingMessage(ctx, say("stream 3 4", "")))
	if err != nil {
		return err
	}
	fmt.Println("stream:", text)

	got, err := client.GetTask(ctx, &a2a.GetTaskRequest{Id: task.GetId()})
	if err != nil {
		return err
	}
	fmt.Println("get:", got.GetStatus().GetState())

	list, err := client.ListTasks(ctx, &a2a.ListTasksRequest{ContextId: task.GetContextId()})
	if err != nil {
		return err
	}
	fmt.Println("list:", list.GetTotalSize())

	if err := resumed(ctx, client); err != nil {
		return err
	}
	if err := canceled(ctx, client); err != nil {
		return err
	}

	_, err = client.GetTask(ctx, &a2a.GetTaskRequest{Id: "nobody"})
	fmt.Println("error:", explained(err))
	_, err = client.SendMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{}})
	fmt.Println("invalid:", explained(err))
	short, done := context.WithTimeout(ctx, 300*time.Millisecond)
	defer done()
	_, err = client.SendMessage(short, say("wait 20000", ""))
	fmt.Println("late:", status.Code(err))
	return nil
}

// A message of the user. An idempotency key in the metadata would make it safe to send again.
func say(text, contextID string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageId: strconv.FormatInt(time.Now().UnixNano(), 36),
		ContextId: contextID,
		Role:      a2a.Role_ROLE_USER,
		Parts:     []*a2a.Part{{Content: &a2a.Part_Text{Text: text}}},
	}}
}

// The text of the artifacts that a stream brings, and the state at its end.
func read(stream grpc.ServerStreamingClient[a2a.StreamResponse], err error) (string, a2a.TaskState, error) {
	var text strings.Builder
	var state a2a.TaskState
	for err == nil {
		var event *a2a.StreamResponse
		if event, err = stream.Recv(); err != nil {
			break
		}
		for _, part := range event.GetArtifactUpdate().GetArtifact().GetParts() {
			text.WriteString(part.GetText())
		}
		if update := event.GetStatusUpdate(); update != nil {
			state = update.GetStatus().GetState()
		}
	}
	if !errors.Is(err, io.EOF) {
		return "", state, err
	}
	return text.String(), state, nil
}

// Leaves a stream behind its first piece, and goes on where it was.
func resumed(ctx context.Context, client a2a.A2AServiceClient) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "a2a-extensions", resume)
	cut, hangUp := context.WithCancel(ctx)
	defer hangUp()
	stream, err := client.SendStreamingMessage(cut, say("stream 4 4 100", ""))
	if err != nil {
		return err
	}
	var first *a2a.TaskArtifactUpdateEvent
	for first == nil {
		event, err := stream.Recv()
		if err != nil {
			return err
		}
		first = event.GetArtifactUpdate()
	}
	hangUp()
	seen := first.GetMetadata().GetFields()[resume].GetStructValue().GetFields()["generation"].GetNumberValue()
	after := metadata.AppendToOutgoingContext(ctx, "parley-after-generation", strconv.Itoa(int(seen)))
	rest, _, err := read(client.SubscribeToTask(after, &a2a.SubscribeToTaskRequest{Id: first.GetTaskId()}))
	if err != nil {
		return err
	}
	fmt.Println("resume:", first.GetArtifact().GetParts()[0].GetText()+rest)
	return nil
}

// Cancels a task that somebody subscribes to.
func canceled(ctx context.Context, client a2a.A2AServiceClient) error {
	request := say("wait 20000", "")
	request.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	begun, err := client.SendMessage(ctx, request)
	if err != nil {
		return err
	}
	id := begun.GetTask().GetId()
	stream, err := client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{Id: id})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if _, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{Id: id}); err != nil {
		return err
	}
	_, state, err := read(stream, nil)
	fmt.Println("cancel:", state)
	return err
}

// The code of an error, its reason, and the fields that it names.
func explained(err error) string {
	failed := status.Convert(err)
	words := []string{failed.Code().String()}
	for _, detail := range failed.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			words = append(words, detail.GetReason())
		case *errdetails.BadRequest:
			var fields []string
			for _, violation := range detail.GetFieldViolations() {
				fields = append(fields, violation.GetField())
			}
			slices.Sort(fields)
			words = append(words, fields...)
		}
	}
	return strings.Join(words, " ")
}
