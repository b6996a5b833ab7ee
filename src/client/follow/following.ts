import { create } from "@bufbuild/protobuf";
import {
  type Part,
  type SendMessageRequest,
  type SendMessageResponse,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError, type Reason, toA2AError } from "../../core/error.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import {
  EXTENSIONS_PARAMETER,
  IDEMPOTENCY_KEY,
  RESUME_EXTENSION,
  resumeParameters,
} from "../../wire/service-params.js";
import { type OfSkill, ofSkill, type StreamOptions } from "../calls/call-options.js";
import { type ClientCore, questionOf } from "../calls/core.js";
import { Lifetime } from "../calls/lifetime.js";
import { isPassing } from "../calls/retry.js";
import { keyOf, sendOnce } from "../calls/send-once.js";
import { isCut, neverArrived, saysNothing, unknownArrival } from "../errors/errors.js";
import { ClientFold, generationIn } from "./fold.js";
import { Attempt, Retries } from "./retries.js";
import { isSameMessage, type Update } from "./update.js";

/** The beginning of a following: a message to send, one that was answered, or an existing task. */
export interface Beginning {
  readonly request?: SendMessageRequest;
  /** The answer that came to the request: only what comes after it is told. */
  readonly answer?: SendMessageResponse;
  readonly taskId?: string;
  /** What the caller knows of the task already. */
  readonly known?: Task | undefined;
}

/** A server gets so long to end a stream whose task is over, in milliseconds. */
const END_MS = 1_000;

/** What a connection's end leads to: the end of all, another connection, one look at the task, or looks from now on. */
type Next = "over" | "again" | "look" | "poll";

/** Looks at a task that is to be read as it has ended, at most: some servers store an event after they have told it. */
const LAST_LOOKS = 5;

/** Errors of a subscription behind which there may be a task all the same; some servers do not find one that nobody works on. */
const hasNoStream: ReadonlySet<Reason> = new Set(["UNSUPPORTED_OPERATION", "METHOD_NOT_FOUND", "TASK_NOT_FOUND"]);

/**
 * Follows one task until it is over or waits for its client, over as many connections as that takes. After a cut it goes on exactly
 * where it stopped where the server has exact resume, and else with a snapshot, which replaces what was folded. It holds one
 * event at a time: the next one is read when the consumer asks.
 */
export class Following {
  readonly #core: ClientCore;
  readonly #options: StreamOptions;
  readonly #fold: ClientFold;
  readonly #life: Lifetime;
  readonly #retries: Retries;
  readonly #request: SendMessageRequest | undefined;
  readonly #key: string | undefined;
  readonly #ofSkill: OfSkill;
  /** The question that the message answers, where it is known. */
  readonly #question: string | undefined;
  #taskId: string;
  /** The message is on its way: nothing has come back yet. */
  #isSending: boolean;
  #hasSent = false;
  /** One of the attempts may have brought the message to the agent. */
  #mayHaveArrived = false;
  #isAnswered = false;
  /** Nothing has come on the open connection. */
  #isFresh = true;
  /** The generation that the open connection was asked to go on after. */
  #after: number | undefined;
  /** Something happened before our eyes: if the task waits for its client now, a turn has come to its end. */
  #hasMoved = false;
  /** Something may have been missed, or come twice, that no event will set right. */
  #isInexact = false;
  /** Credentials that have run out in the middle of a stream were given up once since the last event. */
  #hasReauthenticated = true;

  constructor(core: ClientCore, options: StreamOptions, { request, answer, taskId, known }: Beginning) {
    this.#core = core;
    this.#options = options;
    this.#request = request;
    this.#isSending = request !== undefined;
    this.#taskId = taskId ?? "";
    this.#key = keyOf(core, options);
    this.#ofSkill = ofSkill(options.skill);
    this.#fold = new ClientFold(options.maxTaskBytes, known);
    if (request === undefined && options.afterGeneration !== undefined) this.#fold.generation = options.afterGeneration;
    this.#life = new Lifetime(options);
    this.#retries = new Retries(core.backoff, this.#life);
    this.#question = request && questionBefore(core, request);
    if (answer !== undefined) this.#answered(answer);
  }

  /** @throws A2AError */
  async *updates(): AsyncGenerator<Update, void, undefined> {
    try {
      let next: Next = "again";
      if (!this.#core.canStream) {
        if (this.#isSending && this.#request !== undefined) yield await this.#sent(this.#request);
        next = this.#isOver ? "over" : "poll";
      }
      while (next === "again") {
        this.#life.check();
        next = await this.#ended(yield* this.#connection());
        if (next === "look") next = yield* this.#look();
      }
      if (next === "poll") yield* this.#poll();
      if (this.#isInexact || this.#fold.hasGap) yield* this.#lastLook();
    } catch (error) {
      throw this.#told(error);
    } finally {
      this.#life.end();
      if (this.#fold.task !== undefined) this.#core.asked.note(this.#fold.task);
    }
  }

  /** What comes on one connection; returns why it ended, or undefined where the server ended it properly. */
  async *#connection(): AsyncGenerator<Update, A2AError | undefined, undefined> {
    const attempt = new Attempt(this.#life, this.#options.stallMs);
    let iterator: AsyncIterator<StreamResponse> | undefined;
    try {
      iterator = this.#open(attempt.signal)[Symbol.asyncIterator]();
      for (;;) {
        // A task that is over has said all: its stream has to end, but not now.
        const result = await attempt.next(iterator, isTerminal(this.#fold.state) ? END_MS : undefined);
        if (result.done === true) return undefined;
        const update = this.#isWithoutTask(result.value) ? yield* this.#join(result.value) : this.#take(result.value);
        if (update !== undefined) yield update;
        if (this.#hasPausedUnseen(update)) return undefined;
      }
    } catch (error) {
      if (!attempt.isStalled || this.#life.isOver) return toA2AError(error);
      // Whoever answered and was silent then is there.
      if (!this.#isFresh) this.#retries.reset();
      return new A2AError("UNAVAILABLE", "Nothing came on the connection for too long.", { cause: error });
    } finally {
      attempt.end();
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

  /** A connection to a task that is under way begins with a change of it: what was missed, no event will bring. */
  #isWithoutTask({ payload }: StreamResponse): boolean {
    if (!this.#isFresh || this.#isSending || this.#after !== undefined) return false;
    return payload.case === "statusUpdate" || payload.case === "artifactUpdate";
  }

  /** Reads the task that a stream did not begin with, as it stands with the change or just before it. */
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
    // With exact resume it says where the client stands, and has no artifacts.
    if (this.#after !== undefined && generationIn(payload.value.metadata) === this.#after) {
      this.#fold.standAt(payload.value);
      return undefined;
    }
    if (isKnown) this.#isInexact = true;
    return this.#fold.takeTask(payload.value, event);
  }

  /** A snapshot shows that the turn came to its end while nobody was connected; such a stream may stay open and silent. */
  #hasPausedUnseen(update: Update | undefined): boolean {
    if (update?.kind !== "snapshot" || this.#hasQuestion) return false;
    return this.#isInexact && this.#fold.state === TaskState.INPUT_REQUIRED;
  }

  /** The task still waits with the question that the message answers: its turn has not begun. */
  get #hasQuestion(): boolean {
    return this.#question !== undefined && questionOf(this.#fold.task?.status) === this.#question;
  }

  get #isOver(): boolean {
    if (this.#isAnswered || isTerminal(this.#fold.state)) return true;
    return this.#hasMoved && isInterrupted(this.#fold.state) && !this.#hasQuestion;
  }

  /** What the end of a connection leads to. @throws A2AError where there is nothing more to try */
  async #ended(failure: A2AError | undefined): Promise<Next> {
    if (this.#isAnswered || isTerminal(this.#fold.state)) return "over";
    this.#life.check();
    if (failure === undefined && !this.#isFresh && isInterrupted(this.#fold.state)) {
      return this.#hasQuestion ? "poll" : "over";
    }
    const cut = failure ?? new A2AError("UNAVAILABLE", "The stream ended before its task did.");
    if (this.#isSending) this.#checkRepeatable(cut);
    else if (hasNoStream.has(cut.reason)) return "poll";
    else if (cut.reason === "INVALID_PARAMS" && this.#after !== undefined && this.#isFresh) {
      // Another history than the one that we followed, such as that of a backup.
      this.#fold.hasGap = true;
    } else if (cut.reason === "UNAUTHENTICATED" && !this.#hasReauthenticated) {
      this.#hasReauthenticated = true;
      return "again";
    } else if (!isCut(cut)) throw cut;
    await this.#retries.wait(cut);
    // While it waits for authorization its turn may go on by itself.
    const hasPaused = this.#hasMoved && this.#fold.state === TaskState.INPUT_REQUIRED && !this.#hasQuestion;
    // Some servers end a stream, or break one off that has nothing to tell, because its task is over.
    const hasEnded = failure === undefined || (this.#isFresh && !neverArrived(cut));
    const mayBeOver = hasPaused || (hasEnded && !this.#core.canResume);
    return mayBeOver && !this.#isSending ? "look" : "again";
  }

  /** A message is sent again as `send` does it, but for as long as streams are taken up again. @throws the failure where it is not */
  #checkRepeatable(failure: A2AError): void {
    if (neverArrived(failure)) return;
    if (saysNothing(failure)) this.#mayHaveArrived = true;
    if (!isPassing(failure) || !this.#isKeyKept || this.#core.isRepeating === false) throw failure;
  }

  /** The failure, with what is not known of the message: whichever attempt it is of, an earlier one may have arrived. */
  #told(failure: unknown): unknown {
    if (!this.#isSending || !(failure instanceof A2AError)) return failure;
    // The caller's own deadline ends an attempt that may have arrived.
    const isLate = failure.reason === "DEADLINE_EXCEEDED" && this.#hasSent;
    if (!this.#mayHaveArrived && !isLate) return failure;
    return unknownArrival(failure, { key: this.#key, isRepeatable: this.#isKeyKept });
  }

  /** True if the agent declares that it takes messages with the same key once. A key by itself, which any send may have, promises nothing. */
  get #isKeyKept(): boolean {
    return this.#core.idempotent && this.#key !== undefined;
  }

  /** A cut while the task waits for its client: was that the end of the turn? */
  async *#look(): AsyncGenerator<Update, Next, undefined> {
    const task = await this.#read();
    const generation = this.#core.canResume ? generationIn(task.metadata) : undefined;
    if (generation === undefined || this.#fold.generation === undefined) {
      this.#isInexact = true;
      const update = this.#fold.takeTask(task);
      if (update !== undefined) yield update;
    } else if (generation !== this.#fold.generation) return "again";
    // Authorization may come by another way, and its turn goes on then: only the stream's own end is one.
    if (this.#fold.state === TaskState.AUTH_REQUIRED) return "again";
    return this.#isOver ? "over" : "again";
  }

  /** Where there is no stream: looks at the task, with waits between, until it is over or waits for its client. */
  async *#poll(): AsyncGenerator<Update, void, undefined> {
    const { firstMs, maxMs, maxElapsedMs } = this.#core.backoff;
    const since = performance.now();
    for (let wait = firstMs; ; wait = Math.min(maxMs, wait * 2)) {
      const update = this.#fold.takeTask(await this.#read());
      if (update !== undefined) {
        if (update.kind === "snapshot") this.#hasMoved = true;
        yield update;
        wait = firstMs;
      }
      if (this.#isOver) return;
      // The question counts as asked again.
      if (this.#hasQuestion && performance.now() - since > maxElapsedMs) return;
      await this.#life.pause(wait);
      this.#life.check();
    }
  }

  /** The task as it was stored in the end, where what was followed may differ from it. That it is over has been told, so no error counts. */
  async *#lastLook(): AsyncGenerator<Update, void, undefined> {
    for (let look = 0; look < LAST_LOOKS; look++) {
      const task = await this.#readOnce().catch(() => undefined);
      if (task === undefined) return;
      if (task.id === this.#taskId && task.status?.state === this.#fold.state) {
        const update = this.#fold.takeTask(task);
        if (update !== undefined) yield update;
        return;
      }
      await this.#life.pause(this.#core.backoff.firstMs);
      this.#life.check();
    }
  }

  /** Reads the task, as often as that takes. */
  async #read(): Promise<Task> {
    for (;;) {
      try {
        return await this.#readOnce();
      } catch (error) {
        this.#life.check();
        const failure = toA2AError(error);
        if (!isCut(failure)) throw failure;
        await this.#retries.wait(failure);
      }
    }
  }

  #readOnce(): Promise<Task> {
    const options = { signal: this.#life.signal, headers: this.#headers(), ...this.#ofSkill };
    return this.#core.rpc.getTask({ id: this.#taskId }, options);
  }

  /** The answer to a message, where there is no stream of it. */
  async #sent(request: SendMessageRequest): Promise<Update> {
    const options = { ...this.#options, headers: this.#headers() };
    return this.#answered(await sendOnce(this.#core, request, options, this.#life, this.#key));
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

/** The question that a message answers; undefined where the client has not seen it. */
export function questionBefore({ asked }: ClientCore, { message }: SendMessageRequest): string | undefined {
  return message === undefined || message.taskId === "" ? undefined : asked.of(message.taskId);
}

/** Whether a task that was read behind a change of it has that already, as far as can be seen: a status is of the moment. */
function holds({ artifacts }: Task, { payload }: StreamResponse): boolean {
  if (payload.case !== "artifactUpdate") return true;
  const { artifact, append } = payload.value;
  const known = artifacts.find(({ artifactId }) => artifactId === artifact?.artifactId);
  if (known === undefined || artifact === undefined) return false;
  if (!append) return true;
  const last = known.parts.slice(-artifact.parts.length);
  return (
    last.length === artifact.parts.length && artifact.parts.every((part, i) => isSameMessage(part, last[i] as Part))
  );
}
