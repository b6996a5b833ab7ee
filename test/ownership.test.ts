import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** Owners of the fields that other objects can reach and that change. All others are private (`#`) or read-only. */
const owners: Readonly<Record<string, string>> = {
  "src/binding/grpc/exchange.ts GrpcExchange.onOver": "whoever answers the call: the method, once its request is there",
  "src/binding/grpc/incoming.ts SingleRequest.began": "itself",
  "src/binding/grpc/internal-routes.ts OpenStream.isOver": "itself",
  "src/client/follow/fold.ts ClientFold.generation":
    "itself; notifications, which have it beside the event (client/follow/notified.ts)",
  "src/client/follow/fold.ts ClientFold.hasGap": "itself",
  "src/client/node/incoming.ts IncomingAnswer.contentType": "itself",
  "src/client/node/incoming.ts IncomingAnswer.isOver": "itself",
  "src/client/node/incoming.ts IncomingAnswer.status": "itself",
  "src/core/call.ts Call.traceParent": "the trace interceptors",
  "src/core/call.ts Call.span": "the server span interceptor",
  "src/core/call.ts Call.traceState": "the trace interceptors",
  "src/core/call.ts Call.admitToTask": "the authentication interceptor",
  "src/core/call.ts Call.jsonRpcId": "the binding of JSON-RPC",
  "src/core/call.ts Call.caller": "the authentication interceptor",
  "src/core/call.ts Call.version": "the version interceptor",
  "src/core/call.ts Call.versionFacts": "the translator of the call's version (version/facts.ts)",
  "src/core/call.ts Call.tenant": "the tenant interceptor",
  "src/core/call.ts Call.agent": "the tenant interceptor",
  "src/core/call.ts Call.taskId": "the tenant interceptor",
  "src/core/call.ts Call.extensions": "the extensions interceptor",
  "src/core/call.ts Call.refusals": "admission",
  "src/core/call.ts Call.written": "the budget of what waits for readers",
  "src/http/inbound-budget.ts Source.requests": "InboundBudget, in the same file",
  "src/http/inbound-budget.ts Source.shared": "InboundBudget, in the same file",
  "src/http/inbound-budget.ts Source.reserved": "InboundBudget, in the same file",
  "src/http/exchange.ts HttpExchange.target": "the dispatch, once",
  "src/http/event-stream.ts EventSink.isOver": "itself",
  "src/http/event-stream.ts EventSink.isComplete": "the writer of the stream, in the same file",
  "src/http/node/http2-sessions.ts Streams.onNone": "the session of HTTP/2 that they belong to",
  "src/push/delivery.ts Delivery.isLost": "itself; the dispatcher, when the store has moved",
  "src/push/delivery.ts Delivery.isOver": "the dispatcher, which stores how it ended",
  "src/service/outgoing-budget.ts HeldBytes.bytes": "the budget, in the same file",
  "src/store/deliveries.ts Taking.count": "itself",
  "src/task/fold.ts TaskFold.position": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.changes": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.generation": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.earlierGenerations": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.generationPosition": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.statusPosition": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.steps": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.messages": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.version": "itself, and the reader of snapshots in the same file",
  "src/task/fold.ts TaskFold.relays": "itself, and the reader of snapshots",
  "src/task/fold.ts TaskFold.knowsRelays": "itself, and the reader of snapshots",
  "src/task/fold.ts TaskFold.initialMetadata": "itself, and the reader of snapshots",
  "src/task/fold.ts TaskFold.talk": "itself, and the reader of snapshots",
  "src/task/talk.ts Talk.ended": "itself, and the reader of snapshots",
  "src/wire/sse.ts EventParser.length": "itself",
  "src/core/call.ts Call.share": "the interceptor of a caller's limits",
  "src/core/call.ts Call.held": "the interceptor that limits the memory of requests",
  "src/engine/run/execution-slots.ts OwnerSlots.running": "ExecutionSlots, in the same file",
  "src/engine/run/execution-slots.ts OwnerSlots.waitingBytes": "ExecutionSlots, in the same file",
  "src/engine/run/execution-slots.ts OwnerSlots.tasksLeft": "the limit of open tasks",
  "src/engine/run/execution-slots.ts OwnerSlots.counting": "the limit of open tasks",
  "src/engine/run/execution-slots.ts OwnerSlots.fullUntil": "the limit of open tasks",
  "src/engine/run/execution-slots.ts OwnerSlots.creating": "the limit of open tasks, and the send that it let in",
  "src/engine/run/execution-slots.ts ExecutionSlot.isHeld": "ExecutionSlots, in the same file",
  "src/engine/run/execution-slots.ts ExecutionSlot.isOver": "ExecutionSlots, in the same file",
  "src/engine/run/execution-slots.ts ExecutionSlot.whenHeld": "who waits for it: a send, or an execution",
  "src/engine/run/execution-slots.ts ExecutionSlot.held": "the send that takes the place",
  "src/engine/run/execution-slots.ts ExecutionSlot.whenStopped": "the send that waits for it",
  "src/push/delivery.ts Delivery.request": "the poster, which sends it for the delivery",
  "src/push/delivery.ts Delivery.endProbe": "the dispatcher, where the delivery tries a host",
  "src/push/host-limiter.ts Host.hasMore": "the dispatcher and its claimer, which know what is due",
  "src/outgoing/connections.ts Connection.isIdle": "HostConnections, in the same file",
  "src/push/target/post.ts WebhookPost.isOver": "itself",
  "src/service/caller-shares.ts CallerShare.calls": "the interceptors that count what a caller has open",
  "src/service/caller-shares.ts CallerShare.streams": "the interceptors that count what a caller has open",
  "src/service/caller-shares.ts Subscribers.count": "Subscriptions, in the same file",
  "src/wire/binary-input.ts BinaryInput.at": "the input itself; readers of messages only look where it is",
  "src/wire/violations.ts Violations.depth": "the JSON reader, which knows how deep it is",
  "src/wire/violations.ts Violations.count": "itself",
  "src/workers/worker-process.ts WorkerProcess.hasSuccessor": "the primary process, where it replaces workers",
  "src/workers/worker-process.ts WorkerProcess.holder": "the primary process, as its messages say",
  "src/workers/worker-process.ts WorkerProcess.isEnding": "the primary process, as its messages say",
  "src/workers/worker-process.ts WorkerProcess.isReady": "the primary process, as its messages say",
  "src/workers/worker-process.ts WorkerProcess.latestMs": "the primary process, as its messages say",
  "src/workers/worker-process.ts WorkerProcess.onReady": "the primary process, as its messages say",
  "src/workers/worker-process.ts WorkerProcess.metrics": "the inquiries, whose answers they are",
};

const root = fileURLToPath(new URL("..", import.meta.url));

/** A field of a class that is neither private nor read-only. The name of an error is set where it is declared. */
const field =
  /^ {2}(?!readonly\b|private\b|static\b|override (?:readonly |name\b))(?:(?:protected|override|abstract|declare) (?!readonly\b))*([A-Za-z]\w*)[?!]?(?:: .+)?(?: = .*)?;$/;
const notFields = /^ {2}(?:return|get |set |async |constructor|readonly|.*\breadonly\b)/;

function changeable(text: string): string[] {
  const found: string[] = [];
  let name: string | undefined;
  for (const line of text.split("\n")) {
    const begun = /^(?:export )?(?:abstract )?class (\w+)/.exec(line)?.[1];
    if (begun !== undefined) name = begun;
    else if (line.startsWith("}")) name = undefined;
    else if (name !== undefined && !notFields.test(line)) {
      const [, of] = field.exec(line) ?? [];
      if (of !== undefined && !new RegExp(`^ {2}(?:\\w+ )*${of}[?!]?\\(`).test(line)) found.push(`${name}.${of}`);
    }
  }
  return found;
}

describe("fields that change", () => {
  it("are private, or have an owner", () => {
    const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".ts"),
    );
    const found = files.flatMap((file) =>
      changeable(readFileSync(join(root, "src", file), "utf8")).map((of) => `${relative("", join("src", file))} ${of}`),
    );
    expect(found.sort()).toEqual(Object.keys(owners).sort());
  });

  it("are found in a class, of any form", () => {
    const text = [
      "export class A {",
      "  open = 1;",
      "  typed: Map<string, () => void> = new Map();",
      "  later!: string;",
      "  protected heir: number | undefined;",
      "  readonly fixed = 1;",
      "  #own = 1;",
      "  static shared = 1;",
      "  override name = 'A';",
      "  method(): void {",
      "    this.open = 2;",
      "  }",
      "}",
      "interface B {",
      "  notOurs: string;",
      "}",
    ].join("\n");
    expect(changeable(text)).toEqual(["A.open", "A.typed", "A.later", "A.heir"]);
  });
});
