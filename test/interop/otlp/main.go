// An OTLP receiver built from the OpenTelemetry Collector's. It prints its URL and each export of spans as a line of
// OTLP in JSON.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func main() {
	log.SetFlags(0)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = address
	marshaler := &ptrace.JSONMarshaler{}
	print := func(_ context.Context, traces ptrace.Traces) error {
		line, err := marshaler.MarshalTraces(traces)
		if err != nil {
			return err
		}
		_, err = fmt.Printf("%s\n", line)
		return err
	}
	next, err := consumer.NewTraces(print)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	settings := receivertest.NewNopSettings(factory.Type())
	receiver, err := factory.CreateTraces(ctx, settings, config, next)
	if err != nil {
		log.Fatal(err)
	}
	if err := receiver.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", address)
	<-ctx.Done()
	if err := receiver.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
}
