import type { DescMethod, Message } from "@bufbuild/protobuf";
import {
  A2AService,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { begunStream, mapStream, prepend } from "../../core/map-stream.js";
import { expectMessage } from "../../wire/expect-message.js";
import { type AnswerWriter, mark, marksOf } from "../../wire/marks.js";
import { sharedCopy } from "../../wire/serialization-cache.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import { setVersionFacts } from "../facts.js";
import type { JsonRpcMethod } from "../jsonrpc.js";
import type { MethodHandler, MethodInvocation } from "../method-handler.js";
import { facts as factsOfV01, resumedIn, showsIds } from "../v0.1/behaviour.js";
import { OlderEvents } from "../v0.1/events.js";
import { jsonRpc as jsonRpcOfV01 } from "../v0.1/jsonrpc.js";
import { shownTask, withoutHistory } from "../v0.1/view.js";
import { behave } from "./behaviour.js";

const { method } = A2AService;

/** Methods that 0.1 also has, with the same params. If a call names no version, its task determines the version. */
const shared: ReadonlySet<unknown> = new Set([method.getTask, method.cancelTask, method.subscribeToTask]);

/** The method with its response writer. Its streams cache no text, because their responses are not shared. */
export function inVersionOfTask(own: JsonRpcMethod): JsonRpcMethod {
  if (!shared.has(own.desc)) return own;
  const writerFor = (answer: Message): AnswerWriter => marksOf(answer)?.writer ?? own;
  return {
    ...own,
    write: (answer) => writerFor(answer).write(answer),
    pieces: (answer) => writerFor(answer).pieces(answer),
  };
}

/** Handlers for calls of 0.3 over JSON-RPC and HTTP+JSON, and of 0.2. */
export function behaveAsV03(service: MethodHandler, supported: readonly string[]): MethodHandler {
  const serve = behave(service);
  return supported.includes("0.1") ? answeredByTask(serve, service) : serve;
}

/**
 * Answers calls without a version, of methods that 0.1 also has, in the form of 0.1 if the task was created in 0.1.
 * Nothing else distinguishes such a call from one of 0.3.
 */
function answeredByTask(serve: MethodHandler, service: MethodHandler): MethodHandler {
  return (asked) => {
    if (!shared.has(asked.method) || isNamed(asked)) return serve(asked);
    setVersionFacts(asked.call, factsOfV01);
    return asked.method === method.subscribeToTask ? subscribe(asked, serve, service) : readShared(asked, serve);
  };
}

/** True if the call identifies itself as 0.3: by a header, or by a binding that 0.1 lacks. */
function isNamed({ call }: MethodInvocation): boolean {
  return call.binding !== "jsonrpc" || (call.header(VERSION_PARAMETER)?.trim() ?? "") !== "";
}

async function readShared(asked: MethodInvocation, serve: MethodHandler): Promise<Message> {
  const task = expectMessage(TaskSchema, await serve(asked));
  if (marksOf(task)?.version !== "0.1") return task;
  const shown = shownTask(task);
  // In 0.1 an absent length requests no messages.
  const { historyLength }: Message & { historyLength?: number } = asked.request;
  const answer = historyLength === undefined ? withoutHistory(shown) : shown;
  return mark(sharedCopy(answer, {}), { writer: writerOfV01(asked.method) });
}

async function subscribe(
  asked: MethodInvocation,
  serve: MethodHandler,
  service: MethodHandler,
): Promise<AsyncIterable<Message>> {
  const events = (await serve(asked)) as AsyncIterable<StreamResponse>;
  // The first event tells the version of the task, and with it the format of all events.
  return begunStream(events, async (source) => {
    const first = await source.next();
    const all = prepend(first, source);
    const payload = first.done === true ? undefined : first.value.payload;
    if (payload?.case !== "task" || marksOf(payload.value)?.version !== "0.1") return all;
    const { call } = asked;
    const { id: taskId } = expectMessage(SubscribeToTaskRequestSchema, asked.request);
    const resumed = await resumedIn(call, taskId, service);
    const writer = writerOfV01(asked.method);
    return mapStream(new OlderEvents(all, { taskId, resumed, hasIds: showsIds(call) }), {
      item: (event) => mark(event, { writer }),
    });
  });
}

/** Returns the writer of the answers of 0.1. */
function writerOfV01(desc: DescMethod): AnswerWriter | undefined {
  return jsonRpcOfV01.methods.find((method) => method.desc === desc);
}
