import type { JsonObject } from "@bufbuild/protobuf";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller, CallerToken } from "../core/caller.js";

/** One accepted message with everything its execution needs. */
export interface TurnRequest {
  readonly message: Message;
  /** Position of the entry that accepted it; 0 while there is no task. */
  readonly position: number;
  readonly attempt: number;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: JsonObject;
  readonly traceParent: string;
  /** How many agents have handed the work on before it came here. */
  readonly delegationDepth?: number;
  /** The id that the task is kept under, where the one in its messages was chosen by its client and is not unique. */
  readonly keptAs?: string | undefined;
  /** Messages of the conversation before a task that its client goes on with under another one's name, oldest first. */
  readonly earlier?: readonly Message[] | undefined;
  /** The bearer token that the message came with, where agents may pass it on. In memory alone. */
  readonly bearer?: CallerToken | undefined;
}
