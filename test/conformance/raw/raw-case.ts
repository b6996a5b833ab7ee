import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { HeaderInput } from "../../support/http.js";
import type { Pattern } from "../../support/match.js";
import type { Saves } from "../case.js";
import type { SetupName } from "../setups.js";

/** An HTTP request, as it goes over the wire, and what has to come back. */
export interface RawStep {
  /** Verb and target, such as `GET /tasks?pageSize=1`. */
  readonly send: string;
  readonly headers?: HeaderInput;
  /** A text as it is, or JSON. */
  readonly body?: string | Uint8Array | JsonObject | readonly JsonValue[];
  readonly status: number;
  /** Headers of the response, by lower-case name. */
  readonly got?: Readonly<Record<string, Pattern>>;
  /** The body, which then has to be JSON. */
  readonly json?: Pattern;
  /** The body as text. */
  readonly text?: Pattern;
  /** The frames of an event stream, all of them. */
  readonly frames?: readonly RawFrame[];
  /** Values of the JSON body to remember. */
  readonly save?: Saves;
}

/** One frame of an event stream. */
export interface RawFrame {
  /** The data, which has to be JSON. */
  readonly data: Pattern;
  /** Its id; absent when there is none. */
  readonly id?: Pattern;
}

/** Something that belongs to one binding alone. */
export interface RawCase {
  readonly name: string;
  readonly ids: readonly string[];
  readonly setup?: SetupName;
  readonly steps: readonly RawStep[];
}
