import type { Message } from "@bufbuild/protobuf";
import { bufferOf } from "../../../http/body.js";
import { parseVersion, VERSION_PARAMETER } from "../../../wire/service-params.js";
import { type OlderServiceOptions, olderTable } from "../../binding.js";
import { failureOf } from "../../failure.js";
import { statusOf } from "../error.js";
import { createGrpcBinding, type GrpcBinding } from "./binding.js";
import { type StreamCall, statusFor, type UnaryCall } from "./call.js";
import type { DecodedRequest, GrpcMethod } from "./definition.js";

interface OlderGrpcOptions extends OlderServiceOptions {
  /** See `GrpcBindingOptions`. */
  readonly encrypted?: boolean | undefined;
}

type Raw = UnaryCall | StreamCall;
type Respond = (status: ReturnType<typeof statusFor>) => void;

/**
 * Creates the same binding for a service that is loaded later. Requests stay bytes until then. Methods have their full
 * names as keys, so that they can be added together with those of another service.
 */
export function createOlderGrpcBinding({ encrypted, ...options }: OlderGrpcOptions): GrpcBinding {
  const { service, logger } = options;
  const binding = olderTable(options, (loaded) => createGrpcBinding({ ...loaded, encrypted }));
  const definition: Record<string, GrpcMethod> = {};
  const implementation: Record<string, (call: unknown, callback: unknown) => void> = {};
  for (const { name, isStream } of service.methods) {
    const key = `${service.typeName}.${name}`;
    definition[key] = rawMethod(`/${service.typeName}/${name}`, key, isStream);
    const begin = (
      { definition: methods, implementation: handlers }: GrpcBinding,
      grpc: Raw,
      callback: unknown,
    ): void => {
      const read = methods[name]?.requestDeserialize as (bytes: Buffer) => DecodedRequest;
      grpc.request = read(grpc.request as unknown as Buffer);
      handlers[name]?.(grpc, callback);
    };
    implementation[key] = (call, callback) => {
      const grpc = call as Raw;
      const made = binding.now;
      if (made !== undefined) return begin(made, grpc, callback);
      binding.get().then(
        (loaded) => begin(loaded, grpc, callback),
        (thrown: unknown) => {
          const client = { canceled: grpc.cancelled };
          const status = statusFor(
            grpc,
            statusOf(failureOf(thrown, { client, logger, binding: "grpc", method: name })),
          );
          if (isStream) (grpc as StreamCall).emit("error", status);
          else (callback as Respond)(status);
        },
      );
    };
  }
  return { definition, implementation };
}

/**
 * Joins the services of several versions for one call of `addService`. For a path that a version shares with the first
 * one, `A2A-Version` selects the version.
 */
export function joinGrpcBindings(
  first: GrpcBinding,
  others: readonly (readonly [version: string, GrpcBinding])[],
): GrpcBinding {
  const definition = { ...first.definition };
  const implementation = { ...first.implementation };
  const keys = new Map(Object.entries(first.definition).map(([key, { path }]) => [path, key]));
  for (const [version, other] of others) {
    for (const [name, method] of Object.entries(other.definition)) {
      const key = keys.get(method.path);
      const answer = other.implementation[name] as Handler;
      if (key === undefined) {
        definition[name] = method;
        implementation[name] = answer;
        continue;
      }
      const [read, before] = [definition[key]?.requestDeserialize, implementation[key]];
      definition[key] = rawMethod(method.path, key, method.responseStream);
      implementation[key] = (call, callback) => {
        const grpc = call as Raw;
        if (versionOf(grpc) === version) return answer(call, callback);
        if (read !== undefined) grpc.request = read(grpc.request as unknown as Buffer);
        before?.(call, callback);
      };
    }
  }
  return { definition, implementation };
}

type Handler = (call: unknown, callback: unknown) => void;

function versionOf({ metadata }: Raw): string | undefined {
  const [asked] = metadata.get(VERSION_PARAMETER);
  return typeof asked === "string" ? parseVersion(asked) : undefined;
}

/** Returns a method whose messages are raw bytes, because their type is loaded later. */
function rawMethod(path: string, originalName: string, responseStream: boolean): GrpcMethod {
  const bytes = (message: Message): Buffer => bufferOf(message as unknown as Uint8Array);
  const raw = (given: Buffer): Message => given as unknown as Message;
  return {
    path,
    originalName,
    requestStream: false,
    responseStream,
    requestSerialize: bytes,
    requestDeserialize: raw,
    responseSerialize: bytes,
    responseDeserialize: raw,
  };
}
