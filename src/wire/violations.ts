import { A2AError, invalid, type Violation } from "../core/error.js";
import { MESSAGE_LEVELS, REQUEST_LEVELS } from "./nesting.js";

/** Maximum number of violations in one error, so that an invalid request cannot cause an arbitrarily large answer. */
const MAX_VIOLATIONS = 100;

/** Maximum number of characters of a client's name that a violation repeats. */
const MAX_NAME = 64;

const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** The current path of a reader in its input, and the violations found so far. */
export class Violations {
  /** Number of messages around the current position, as protobuf counts them. */
  depth = 0;
  /** Number of violations, including those beyond the limit of the error. */
  count = 0;
  /** Levels of messages at which reading stops. */
  readonly levels: number;
  /**
   * True if the reader tolerates input of a newer or careless writer: unknown enum names, lone surrogates, duplicate
   * fields.
   */
  readonly isTolerant: boolean;
  readonly #path: (string | number)[] = [];
  readonly #found: Violation[] = [];

  /** @param of `answer` for an answer, which is read tolerantly and may nest as deep as protobuf's readers allow */
  constructor(of: "request" | "answer" = "request") {
    this.isTolerant = of === "answer";
    this.levels = this.isTolerant ? MESSAGE_LEVELS : REQUEST_LEVELS;
  }

  /** Enters a member (by name) or an item (by index) of the current position. Each call is paired with `leave`. */
  enter(step: string | number): void {
    this.#path.push(step);
  }

  leave(): void {
    this.#path.pop();
  }

  /**
   * Adds a violation at the current position, or at a path below it. Returns undefined, the result of readers without a
   * value.
   */
  add(description: string, ...below: (string | number)[]): undefined {
    this.count++;
    if (this.#found.length >= MAX_VIOLATIONS) return undefined;
    this.#found.push({ field: pathText([...this.#path, ...below]), description });
    return undefined;
  }

  /** @throws A2AError INVALID_PARAMS, or INVALID_AGENT_RESPONSE for an answer, that names every violation, if there are any */
  throwIfAny(): void {
    if (this.count === 0) return;
    if (!this.isTolerant) throw invalid(this.#found);
    const found = this.#found.map(({ field, description }) => (field === "" ? description : `${field} ${description}`));
    throw new A2AError("INVALID_AGENT_RESPONSE", `The answer is not what was asked for: ${found.join("; ")}`, {
      violations: this.#found,
    });
  }
}

/** Formats a path: `message.parts[0].text`, `schemes["a.b"]`. */
function pathText(steps: readonly (string | number)[]): string {
  let text = "";
  for (const step of steps) {
    if (typeof step === "number") text += `[${step}]`;
    else if (plainName.test(step) && step.length <= MAX_NAME) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, MAX_NAME))}]`;
  }
  return text;
}
