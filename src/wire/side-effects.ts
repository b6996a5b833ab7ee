import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.js";

/** Whether the contract says that a method only reads: by its idempotency level, or by an HTTP rule that is a GET. */
export function isSideEffectFree(method: DescMethod): boolean {
  if (method.methodKind !== "unary") return false;
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return true;
  return getOption(method, http).pattern.case === "get";
}
