import type { Message } from "@bufbuild/protobuf";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Peer } from "../../core/call.js";
import { toA2AError } from "../../core/error.js";
import { cutId, type Logger, logFacts, requestFacts } from "../../core/log.js";
import { mapStream } from "../../core/map-stream.js";
import { type Invocation, type InvocationResult, isStream, type ServiceInterceptor } from "../invoke.js";
import { type OfTask, taskNamedBy } from "./task-named.js";

/** Data of a log line, collected while its call runs. */
interface Line {
  readonly invocation: Invocation;
  readonly began: number;
  taskId: string | undefined;
  state: TaskState | undefined;
  /** Number of messages of a stream that the client has read. */
  events: number | undefined;
}

/** A request rejected before it became a call of a method. */
export interface RejectedRequest {
  readonly binding: string;
  /** Name of the method, if it was read. */
  readonly method?: string | undefined;
  /** Reason of the error, if known. */
  readonly code?: string | undefined;
  readonly status?: number;
  readonly ms?: number;
  readonly path?: string;
  readonly from: RejectionSource;
}

/** Origin of a rejected request: its connection, and the headers that a proxy may have added. */
interface RejectionSource {
  readonly peer: Peer;
  /** Absent for a connection without a request. */
  readonly requestId?: string | undefined;
  header(name: string): string | undefined;
}

/** Logs a request that was rejected before it became a call. */
export type RejectionLog = (request: RejectedRequest) => void;

/** Maximum number of characters of a path in a log line. */
const MAX_PATH = 200;

/**
 * Creates the function that writes access-log lines for requests that never became calls.
 *
 * @param addressOf returns the client's address, even if a trusted proxy forwards the request
 */
export function rejectionLog(logger: Logger, addressOf: (from: RejectionSource) => string): RejectionLog {
  return ({ binding, method = "-", code = "-", path, from, ...facts }) => {
    const shown = path !== undefined && { path: path.slice(0, MAX_PATH) };
    const line = { method, binding, code, ...facts, ...shown, peer: addressOf(from), ...requestFacts(from) };
    logger.info(line, "call");
  };
}

/** Logs a line when a call or stream ends. It is part of the chain only if the access log is enabled. */
export function accessLog(logger: Logger): ServiceInterceptor {
  return (next) => async (invocation) => {
    const taskId = taskNamedBy(invocation.request);
    const line: Line = { invocation, began: performance.now(), taskId, state: undefined, events: undefined };
    let answer: InvocationResult;
    try {
      answer = await next(invocation);
    } catch (error) {
      write(logger, line, toA2AError(error).reason);
      throw error;
    }
    if (isStream(answer)) return loggedAnswer(answer, line, logger);
    note(line, answer);
    write(logger, line, "OK");
    return answer;
  };
}

function loggedAnswer(answer: AsyncIterable<Message>, line: Line, logger: Logger): AsyncIterable<Message> {
  let code = "CANCELLED";
  line.events = 0;
  return mapStream(answer, {
    item: (message) => {
      note(line, message);
      return message;
    },
    done: () => {
      code = "OK";
    },
    failed: (error) => {
      code = toA2AError(error).reason;
      return error;
    },
    end: () => write(logger, line, code),
  });
}

function note(line: Line, message: OfTask): void {
  const value = message.payload?.value ?? message;
  if (line.events !== undefined) line.events++;
  line.taskId = taskNamedBy(value) ?? line.taskId;
  line.state = value.status?.state ?? line.state;
}

function write(logger: Logger, { invocation, began, taskId, state, events }: Line, code: string): void {
  const { call, method } = invocation;
  const facts = {
    method: method.name,
    binding: call.binding,
    code,
    ms: Math.round(performance.now() - began),
    ...(state !== undefined && { state: TaskState[state] }),
    ...(events !== undefined && { events }),
    ...(call.tenant !== "" && { tenant: cutId(call.tenant) }),
    ...(call.caller.owner !== "" && { owner: cutId(call.caller.owner) }),
    peer: call.peer.address,
    ...logFacts({
      requestId: call.requestId,
      traceParent: call.traceParent,
      agent: call.agent,
      taskId: taskId ?? call.taskId,
    }),
  };
  logger.info(facts, "call");
}
