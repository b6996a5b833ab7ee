// Exports of both sides, `authors.ts` and `client/common.ts`: the content of messages and tasks, and errors.

export { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
export { A2AError, type A2AErrorOptions, type Reason, StatusCode, type Violation } from "../core/error.js";
export type { Answer, Update } from "./answer.js";
export type { MessageInput } from "./message-input.js";
export {
  dataOf,
  filesOf,
  type PlainFile,
  type PlainPart,
  partsOf,
  type ReadableArtifact,
  type ReadableMessage,
  type ReadablePart,
  type ReadableTask,
  textOf,
  type WithContent,
} from "./plain.js";
