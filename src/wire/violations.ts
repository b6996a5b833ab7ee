import { A2AError, invalid, type Violation } from "../core/error.js";
import { MESSAGE_LEVELS, REQUEST_LEVELS } from "../core/nesting.js";

/** Violations that one error names at most; a request made of nothing else would otherwise get an endless answer. */
const MAX_VIOLATIONS = 100;

/** Characters that a violation repeats of a name which the client chose. */
const MAX_NAME = 64;

const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** Where a reader is in its input, and everything that it found wrong so far. */
export class Violations {
  /** Messages around the place being read, as protobuf counts them. */
  depth = 0;
  /** Violations noted, also those beyond what the error lists. */
  count = 0;
  /** Levels of messages at which reading stops. */
  readonly levels: number;
  /** Whether what a newer or careless writer may have sent is passed over: names of enums, halves of surrogate pairs, fields given twice. */
  readonly isTolerant: boolean;
  readonly #path: (string | number)[] = [];
  readonly #found: Violation[] = [];

  /** Of a request, or of an answer, which is read with tolerance and may nest as deep as protobuf's readers allow. */
  constructor(of: "request" | "answer" = "request") {
    this.isTolerant = of === "answer";
    this.levels = this.isTolerant ? MESSAGE_LEVELS : REQUEST_LEVELS;
  }

  /** Goes to a member (by name) or an item (by index) of the current place. Each call is paired with `leave`. */
  enter(step: string | number): void {
    this.#path.push(step);
  }

  leave(): void {
    this.#path.pop();
  }

  /** Notes what is wrong at the current place, or at the steps below it. Returns what readers give for no value. */
  add(description: string, ...below: (string | number)[]): undefined {
    this.count++;
    if (this.#found.length >= MAX_VIOLATIONS) return undefined;
    this.#found.push({ field: pathText([...this.#path, ...below]), description });
    return undefined;
  }

  /** @throws A2AError with reason INVALID_PARAMS that names every violation, when there is one. */
  throwIfAny(): void {
    if (this.count > 0) throw invalid(this.#found);
  }

  /** @throws A2AError with reason INVALID_AGENT_RESPONSE that names every violation, when there is one. */
  throwIfNoAnswer(): void {
    if (this.count === 0) return;
    const found = this.#found.map(({ field, description }) => (field === "" ? description : `${field} ${description}`));
    throw new A2AError("INVALID_AGENT_RESPONSE", `The answer is not what was asked for: ${found.join("; ")}`, {
      violations: this.#found,
    });
  }
}

/** A path as people write it: `message.parts[0].text`, `schemes["a.b"]`. */
function pathText(steps: readonly (string | number)[]): string {
  let text = "";
  for (const step of steps) {
    if (typeof step === "number") text += `[${step}]`;
    else if (plainName.test(step) && step.length <= MAX_NAME) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, MAX_NAME))}]`;
  }
  return text;
}
