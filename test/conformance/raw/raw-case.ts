import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { HeaderInput } from "../../support/http.js";
import type { Pattern } from "../../support/match.js";
import type { Saves } from "../case.js";
import type { SetupName } from "../setups.js";

/** An HTTP request as sent over the wire, with the expected answer. */
export interface RawStep {
  /** Verb and target, such as `GET /tasks?pageSize=1`. */
  readonly send: string;
  readonly headers?: HeaderInput;
  /** The body as text or bytes, or as JSON. */
  readonly body?: string | Uint8Array | JsonObject | readonly JsonValue[];
  readonly status: number;
  /** Headers of the response, by lower-case name. */
  readonly got?: Readonly<Record<string, Pattern>>;
  /** The body, which has to be JSON. */
  readonly json?: Pattern;
  /** The body as text. */
  readonly text?: Pattern;
  /** All frames of an event stream. */
  readonly frames?: readonly RawFrame[];
  /** Values of the JSON body to save. */
  readonly save?: Saves;
}

/** One frame of an event stream. */
export interface RawFrame {
  /** The data, which has to be JSON. */
  readonly data: Pattern;
  /** Its id. Expects none if undefined. */
  readonly id?: Pattern;
}

/** A case for a single binding. */
export interface RawCase {
  readonly name: string;
  readonly ids: readonly string[];
  readonly setup?: SetupName;
  readonly steps: readonly RawStep[];
}
