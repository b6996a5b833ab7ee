import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { agentAttributes, noteRequest, protoStateName } from "../telemetry/a2a-attributes.js";
import { a2a, parley, spanNames } from "../telemetry/names.js";
import type { TracedSpan, Tracer } from "../telemetry/tracer.js";
import { AgentError, StepError, TurnPaused } from "./errors.js";
import type { TurnRequest } from "./turn-request.js";

/** The part of a card that spans have. */
type TracedCard = Parameters<typeof agentAttributes>[0];

/**
 * Begins the span of a turn. It is a child of its call's span if this process has accepted the message and the call is
 * open, or has ended a moment ago. Otherwise the turn runs later than its call: after a wait in the queue, a restart, or in
 * another process. Its span then begins a trace of its own and is linked with the call's. A call that is not sampled shares
 * its span with the turn.
 */
export function beginTurnSpan(tracer: Tracer, card: TracedCard, request: TurnRequest): TracedSpan {
  const { span, message, tenant, position, attempt } = request;
  const isDirect = span !== undefined && !span.isPast;
  if (isDirect && span.isDropped) return span;
  const direct = isDirect ? span.context : undefined;
  const link = direct === undefined ? tracer.remote(request) : undefined;
  const turn = tracer.begin(`${spanNames.turn} ${card.name}`, { parent: direct, link });
  if (!turn.isRecording) return turn;
  turn.setAll({ ...agentAttributes(card), [parley.turn]: position, [parley.attempt]: attempt });
  noteRequest(turn, { message, tenant });
  return turn;
}

/** Ends the span of a turn. @param state the task's, if there is a task @param failure class of another error */
export function endTurnSpan(span: TracedSpan, state: TaskState | undefined, failure?: string): void {
  if (span.hasEnded) return;
  if (state !== undefined) span.set(a2a.taskState, protoStateName(state));
  if (state === TaskState.FAILED) span.fail(protoStateName(state));
  else if (failure !== undefined) span.fail(failure);
  span.end();
}

/** Runs a step in a span of its own. */
export async function inStepSpan<T>(turn: TracedSpan, name: string, work: () => Promise<T>): Promise<T> {
  const span = turn.child(`${spanNames.step} ${name}`, { attributes: { [parley.stepName]: name } });
  try {
    return await span.run(work);
  } catch (error) {
    // The work continues in the next turn.
    if (!(error instanceof TurnPaused)) span.fail(classOf(errorOfWork(error)));
    throw error;
  } finally {
    span.end();
  }
}

/** Returns the error that a step's work has thrown, without the one that names the step. */
function errorOfWork(error: unknown): unknown {
  const isOfStep = error instanceof StepError || error instanceof AgentError;
  return isOfStep && error.cause !== undefined ? error.cause : error;
}

/** Name of an error's class. Authors may throw any value, even one whose properties throw. */
export function classOf(error: unknown): string {
  try {
    const name: unknown = (error as Error | undefined)?.constructor.name;
    return typeof name === "string" && name !== "" ? name : "Error";
  } catch {
    return "Error";
  }
}
