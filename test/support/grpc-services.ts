import {
  type DescMethod,
  type DescService,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { Health } from "../../gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.js";

/** A method for clients of grpc-js, whose messages are those of JSON. */
type JsonMethod = MethodDefinition<object, object>;

/** The standard health service, as a client sees it. */
export const healthService: Readonly<Record<"Check" | "Watch" | "List", JsonMethod>> = {
  Check: jsonMethod(Health.method.check),
  Watch: jsonMethod(Health.method.watch),
  List: jsonMethod(Health.method.list),
};

/** The two versions of reflection, as a client sees them: name and only method. */
export const reflectionVersions: readonly (readonly [name: string, method: JsonMethod])[] = [
  versionOf(ServerReflection),
  versionOf(ServerReflectionAlpha),
];

function versionOf(service: DescService): readonly [string, JsonMethod] {
  return [service.typeName, jsonMethod(service.methods[0] as DescMethod)];
}

function jsonMethod({ input, output, ...method }: DescMethod): JsonMethod {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "bidi_streaming",
    responseStream: method.methodKind !== "unary",
    requestSerialize: (value) => Buffer.from(toBinary(input, fromJson(input, value as JsonValue))),
    requestDeserialize: (bytes) => toJson(input, fromBinary(input, bytes)) as object,
    responseSerialize: (value) => Buffer.from(toBinary(output, fromJson(output, value as JsonValue))),
    responseDeserialize: (bytes) => toJson(output, fromBinary(output, bytes)) as object,
  };
}
