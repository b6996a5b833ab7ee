import { create } from "@bufbuild/protobuf";
import {
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { backoffMs } from "../../core/async.js";
import { A2AError, type Reason, toA2AError } from "../../core/error.js";
import { defined } from "../../core/members.js";
import type { Update } from "../../task/answer.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import {
  EXTENSIONS_PARAMETER,
  IDEMPOTENCY_KEY,
  RESUME_EXTENSION,
  resumeParameters,
} from "../../wire/service-params.js";
import { type OfSkill, ofSkill, type StreamOptions } from "../calls/call-options.js";
import { type CallScope, callScopeOf, since } from "../calls/call-scope.js";
import { type ClientCore, questionOf } from "../calls/core.js";
import { isPassing } from "../calls/retry-delay.js";
import { sendOnce } from "../calls/send-once.js";
import { isCut, neverArrived, saysNothing, unknownArrival } from "../errors/errors.js";
import { ClientFold, generationIn } from "./fold.js";
import { RetryState, StreamConnection } from "./retry-state.js";
import { isSameMessage } from "./update.js";

/** Start of following: a message to send, an answered one, or an existing task. */
interface Beginning {
  readonly request?: SendMessageRequest;
  /** Idempotency key of the request. */
  readonly key?: string | undefined;
  /** The answer to the request: only later events are yielded. */
  readonly answer?: SendMessageResponse;
  readonly taskId?: string;
  /** The task as the caller already knows it. */
  readonly known?: Task | undefined;
}

/** Time for a server to end the stream of a finished task, in milliseconds. */
const END_MS = 1_000;

/** Next step after a connection ends: finish, reconnect, read the task once, or poll. */
type Next = "over" | "again" | "read" | "poll";

/** Maximum number of reads of a finished task's final state: some servers send an event before they store it. */
const LAST_READS = 5;

/**
 * Subscription errors after which the task may still exist; some servers do not find a task without a running agent.
 */
const hasNoStream: ReadonlySet<Reason> = new Set(["UNSUPPORTED_OPERATION", "METHOD_NOT_FOUND", "TASK_NOT_FOUND"]);

/**
 * Follows one task until it is finished or waits for its client, over as many connections as needed. After a lost
 * connection it resumes exactly if the server supports it, and otherwise reads a snapshot that replaces the folded
 * task. It buffers one event: the next one is read when the consumer requests it.
 */
export class TaskFollower {
  readonly #core: ClientCore;
  readonly #options: StreamOptions;
  readonly #fold: ClientFold;
  readonly #startedAt = performance.now();
  /** Begins with the first `next()`: a generator that has not started would never end it. */
  #scope!: CallScope;
  #retries!: RetryState;
  readonly #request: SendMessageRequest | undefined;
  readonly #key: string | undefined;
  readonly #ofSkill: OfSkill;
  /** The question that the message answers, if known. */
  readonly #question: string | undefined;
  #taskId: string;
  /** True while the message is in flight. */
  #isSending: boolean;
  #hasSent = false;
  /** True if one of the attempts may have delivered the message. */
  #mayHaveArrived = false;
  #isAnswered = false;
  /** True until the open connection has received something. */
  #isFresh = true;
  /** The generation after which the open connection was to resume. */
  #after: number | undefined;
  /** True after the task has changed: if it waits for its client now, a turn has ended. */
  #hasMoved = false;
  /** True if events may have been missed or repeated and no later event corrects that. */
  #isInexact = false;
  /** True if expired credentials were renewed since the last event; they are renewed once. */
  #hasReauthenticated = true;

  constructor(core: ClientCore, options: StreamOptions, { request, key, answer, taskId, known }: Beginning) {
    this.#core = core;
    this.#options = options;
    this.#request = request;
    this.#isSending = request !== undefined;
    this.#taskId = taskId ?? "";
    this.#key = key;
    this.#ofSkill = ofSkill(options.skill);
    this.#fold = new ClientFold(options.maxTaskBytes, known);
    if (request === undefined && options.afterGeneration !== undefined) this.#fold.generation = options.afterGeneration;
    this.#question = request && questionBefore(core, request);
    if (answer !== undefined) this.#answered(answer);
  }

  /** @throws A2AError */
  async *updates(): AsyncGenerator<Update, void, undefined> {
    this.#scope = callScopeOf(since(this.#startedAt, this.#options));
    this.#retries = new RetryState(this.#core.backoff, this.#scope);
    try {
      let next: Next = "again";
      if (!this.#core.canStream) {
        if (this.#isSending && this.#request !== undefined) yield await this.#sent(this.#request);
        next = this.#isOver ? "over" : "poll";
      }
      while (next === "again") {
        this.#scope.check();
        next = await this.#ended(yield* this.#connection());
        if (next === "read") next = yield* this.#readEnd();
      }
      if (next === "poll") yield* this.#poll();
      if (this.#isInexact || this.#fold.hasGap) yield* this.#readLast();
    } catch (error) {
      throw this.#withArrival(error);
    } finally {
      this.#scope.end();
      if (this.#fold.task !== undefined) this.#core.asked.note(this.#fold.task);
    }
  }

  /**
   * Yields the updates of one connection. Returns the error that ended it, or undefined if the server ended it
   * properly.
   */
  async *#connection(): AsyncGenerator<Update, A2AError | undefined, undefined> {
    const attempt = new StreamConnection(this.#scope, this.#options.stallMs);
    let iterator: AsyncIterator<StreamResponse> | undefined;
    let endsAt: number | undefined;
    try {
      iterator = this.#open(attempt.signal)[Symbol.asyncIterator]();
      for (;;) {
        // The stream of a finished task has to end, within a short time that further events do not extend.
        if (isTerminal(this.#fold.state)) endsAt ??= performance.now() + END_MS;
        const result = await attempt.next(iterator, endsAt && endsAt - performance.now());
        if (result.done === true) return undefined;
        const update = this.#isWithoutTask(result.value) ? yield* this.#join(result.value) : this.#take(result.value);
        if (update !== undefined) yield update;
        if (this.#hasPausedUnseen(update)) return undefined;
      }
    } catch (error) {
      if (!attempt.isStalled || this.#scope.aborted) return toA2AError(error);
      // A server that sent something before it stalled is reachable.
      if (!this.#isFresh) this.#retries.reset();
      return new A2AError("UNAVAILABLE", "Nothing came on the connection for too long.", { cause: error });
    } finally {
      attempt.close();
      iterator?.return?.().catch(() => {});
    }
  }

  #open(signal: AbortSignal): AsyncIterable<StreamResponse> {
    const headers = this.#headers();
    this.#isFresh = true;
    this.#after = undefined;
    if (this.#isSending && this.#request !== undefined) {
      if (this.#key !== undefined) headers.set(IDEMPOTENCY_KEY, this.#key);
      this.#hasSent = true;
      return this.#core.rpc.sendStreamingMessage(this.#request, { signal, headers, ...this.#ofSkill });
    }
    if (this.#core.canResume && !this.#fold.hasGap) this.#after = this.#fold.generation;
    if (this.#after !== undefined) headers.set(resumeParameters.after, String(this.#after));
    return this.#core.rpc.subscribeToTask({ id: this.#taskId }, { signal, headers, ...this.#ofSkill });
  }

  #headers(): Headers {
    const headers = new Headers(this.#options.headers);
    if (this.#core.canResume) headers.append(EXTENSIONS_PARAMETER, RESUME_EXTENSION);
    return headers;
  }

  #take(event: StreamResponse): Update | undefined {
    const isFirst = this.#isFresh;
    this.#isFresh = false;
    this.#hasReauthenticated = false;
    if (isFirst) this.#retries.connected();
    const update = isFirst ? this.#takeFirst(event) : this.#fold.take(event);
    this.#isSending = false;
    if (update === undefined) return undefined;
    this.#retries.reset();
    if (update.task !== undefined) this.#taskId = update.task.id;
    if (update.kind === "message") this.#isAnswered = true;
    if (update.kind !== "task" || this.#request?.message?.taskId === "") this.#hasMoved = true;
    return update;
  }

  /** True if a connection to a running task begins with a change of it: later events will not repeat missed ones. */
  #isWithoutTask({ payload }: StreamResponse): boolean {
    if (!this.#isFresh || this.#isSending || this.#after !== undefined) return false;
    return payload.case === "statusUpdate" || payload.case === "artifactUpdate";
  }

  /** Reads the task that a stream did not begin with; it may or may not include the change. */
  async *#join(event: StreamResponse): AsyncGenerator<Update, Update | undefined, undefined> {
    const task = await this.#read();
    const missed = this.#take(create(StreamResponseSchema, { payload: { case: "task", value: task } }));
    this.#isInexact = true;
    if (holds(task, event)) return missed;
    if (missed !== undefined) yield missed;
    return this.#take(event);
  }

  #takeFirst(event: StreamResponse): Update | undefined {
    const { payload } = event;
    if (this.#isSending) return this.#fold.takeAnswer(event, this.#request?.message?.taskId !== "");
    const isKnown = this.#fold.task !== undefined;
    if (payload.case !== "task") return this.#fold.take(event);
    // With exact resume, the task only confirms the client's generation and has no artifacts.
    if (this.#after !== undefined && generationIn(payload.value.metadata) === this.#after) {
      this.#fold.standAt(payload.value);
      return undefined;
    }
    if (isKnown) this.#isInexact = true;
    return this.#fold.takeTask(payload.value, event);
  }

  /** True if a snapshot shows that the turn ended while disconnected. Such a stream may stay open and silent. */
  #hasPausedUnseen(update: Update | undefined): boolean {
    if (update?.kind !== "snapshot" || this.#hasQuestion) return false;
    return this.#isInexact && this.#fold.state === TaskState.INPUT_REQUIRED;
  }

  /** True while the task still waits with the question that the message answers: its turn has not started. */
  get #hasQuestion(): boolean {
    return this.#question !== undefined && questionOf(this.#fold.task?.status) === this.#question;
  }

  get #isOver(): boolean {
    if (this.#isAnswered || isTerminal(this.#fold.state)) return true;
    return this.#hasMoved && isInterrupted(this.#fold.state) && !this.#hasQuestion;
  }

  /** Decides the next step after a connection ended. @throws A2AError if nothing is left to try */
  async #ended(failure: A2AError | undefined): Promise<Next> {
    if (this.#isAnswered || isTerminal(this.#fold.state)) return "over";
    this.#scope.check();
    if (failure === undefined && !this.#isFresh && isInterrupted(this.#fold.state)) {
      return this.#hasQuestion ? "poll" : "over";
    }
    const cut = failure ?? new A2AError("UNAVAILABLE", "The stream ended before its task did.");
    if (this.#isSending) this.#checkRepeatable(cut);
    else if (hasNoStream.has(cut.reason)) return "poll";
    else if (cut.reason === "INVALID_PARAMS" && this.#after !== undefined && this.#isFresh) {
      // The server has another history than before, for example after a restored backup.
      this.#fold.hasGap = true;
    } else if (cut.reason === "UNAUTHENTICATED" && !this.#hasReauthenticated) {
      this.#hasReauthenticated = true;
      return "again";
    } else if (!isCut(cut)) throw cut;
    await this.#retries.wait(cut);
    // A turn that waits for authorization may continue by itself.
    const hasPaused = this.#hasMoved && this.#fold.state === TaskState.INPUT_REQUIRED && !this.#hasQuestion;
    // Some servers end a stream, or drop a silent one, because its task is finished.
    const hasEnded = failure === undefined || (this.#isFresh && !neverArrived(cut));
    const mayBeOver = hasPaused || (hasEnded && !this.#core.canResume);
    return mayBeOver && !this.#isSending ? "read" : "again";
  }

  /**
   * Checks that a message may be sent again: as in `send`, but for as long as streams are resumed. @throws the failure
   * otherwise
   */
  #checkRepeatable(failure: A2AError): void {
    if (neverArrived(failure)) return;
    if (saysNothing(failure)) this.#mayHaveArrived = true;
    if (!isPassing(failure) || !this.#isKeyKept || this.#core.isRepeating === false) throw failure;
  }

  /** Adds to an error that the message may have arrived, if any attempt may have delivered it. */
  #withArrival(failure: unknown): unknown {
    if (!this.#isSending || !(failure instanceof A2AError)) return failure;
    // The caller's own timeout may end an attempt that arrived.
    const isLate = failure.reason === "DEADLINE_EXCEEDED" && this.#hasSent;
    if (!this.#mayHaveArrived && !isLate) return failure;
    return unknownArrival(failure, { key: this.#key, isRepeatable: this.#isKeyKept });
  }

  /** True if the agent declares that it processes messages with the same key once. The key alone guarantees nothing. */
  get #isKeyKept(): boolean {
    return this.#core.idempotent && this.#key !== undefined;
  }

  /** Reads the task after a connection was lost while it waits for its client, to see whether the turn ended. */
  async *#readEnd(): AsyncGenerator<Update, Next, undefined> {
    const task = await this.#read();
    const generation = this.#core.canResume ? generationIn(task.metadata) : undefined;
    if (generation === undefined || this.#fold.generation === undefined) {
      this.#isInexact = true;
      const update = this.#fold.takeTask(task);
      if (update !== undefined) yield update;
    } else if (generation !== this.#fold.generation) return "again";
    // Authorization may arrive by another channel and continue the turn: only the end of the stream counts.
    if (this.#fold.state === TaskState.AUTH_REQUIRED) return "again";
    return this.#isOver ? "over" : "again";
  }

  /** Polls the task until it is finished or waits for its client, if streaming is not available. */
  async *#poll(): AsyncGenerator<Update, void, undefined> {
    const { firstMs, maxMs, maxElapsedMs } = this.#core.backoff;
    const since = performance.now();
    for (let unchanged = 1; ; unchanged++) {
      const update = this.#fold.takeTask(await this.#read());
      if (update !== undefined) {
        if (update.kind === "snapshot") this.#hasMoved = true;
        yield update;
        unchanged = 1;
      }
      if (this.#isOver) return;
      // The task is taken to have asked the same question again.
      if (this.#hasQuestion && performance.now() - since > maxElapsedMs) return;
      await this.#scope.pause(backoffMs(unchanged, { firstMs, maxMs, jitter: 0 }));
    }
  }

  /**
   * Reads the finally stored task if the folded one may differ. Errors are ignored, since its end was already
   * delivered.
   */
  async *#readLast(): AsyncGenerator<Update, void, undefined> {
    for (let read = 0; read < LAST_READS; read++) {
      const task = await this.#readOnce().catch(() => undefined);
      if (task === undefined) return;
      if (task.id === this.#taskId && task.status?.state === this.#fold.state) {
        const update = this.#fold.takeTask(task);
        if (update !== undefined) yield update;
        return;
      }
      await this.#scope.pause(this.#core.backoff.firstMs);
    }
  }

  /** Reads the task, with retries. */
  async #read(): Promise<Task> {
    for (;;) {
      try {
        return await this.#readOnce();
      } catch (error) {
        this.#scope.check();
        const failure = toA2AError(error);
        if (!isCut(failure)) throw failure;
        await this.#retries.wait(failure);
      }
    }
  }

  #readOnce(): Promise<Task> {
    const options = { signal: this.#scope.signal, headers: this.#headers(), ...this.#ofSkill };
    return this.#core.rpc.getTask({ id: this.#taskId }, options);
  }

  /** Sends the message without a stream. */
  async #sent(request: SendMessageRequest): Promise<Update> {
    const options = { ...this.#options, headers: this.#headers() };
    return this.#answered(await sendOnce(this.#core, request, options, this.#scope, this.#key));
  }

  #answered({ payload }: SendMessageResponse): Update {
    this.#isSending = false;
    this.#hasMoved = true;
    const isKnown = this.#request?.message?.taskId !== "";
    const update = this.#fold.takeAnswer(create(StreamResponseSchema, { payload }), isKnown);
    if (update === undefined)
      throw new A2AError("INVALID_AGENT_RESPONSE", "The answer has neither a task nor a message.");
    this.#isAnswered = update.kind === "message";
    if (update.task !== undefined) this.#taskId = update.task.id;
    return update;
  }
}

/** Returns the question that a message answers; undefined if the client has not seen it. */
export function questionBefore({ asked }: ClientCore, { message }: SendMessageRequest): string | undefined {
  return message === undefined || message.taskId === "" ? undefined : asked.of(message.taskId);
}

/**
 * True if a task that was read includes a change, as far as can be seen. A status is only momentary, so it counts as
 * included.
 */
function holds({ artifacts }: Task, { payload }: StreamResponse): boolean {
  if (payload.case !== "artifactUpdate") return true;
  const { artifact, append } = payload.value;
  const known = artifacts.find(({ artifactId }) => artifactId === artifact?.artifactId);
  if (known === undefined || artifact === undefined) return false;
  if (!append) return true;
  const last = known.parts.slice(-artifact.parts.length);
  return (
    last.length === artifact.parts.length && artifact.parts.every((part, i) => isSameMessage(part, defined(last[i])))
  );
}
