import { create, type DescFile, type DescService, type Message, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "../../../gen/google/rpc/status_pb.js";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import {
  ServerReflection as ServerReflectionAlpha,
  ServerReflectionResponseSchema as ServerReflectionResponseAlphaSchema,
} from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { StatusCode } from "../../core/error.js";
import type { OlderServiceOptions } from "../binding.js";
import { type InternalService, StatusError } from "./internal-service.js";

/**
 * Not used by any method, but a client that knows these files can show the details of an error (specification 10.6).
 */
const errorFiles: readonly DescFile[] = [file_google_rpc_status, file_google_rpc_error_details];

/** A service whose descriptor is loaded later. */
export interface LaterService {
  readonly typeName: string;
  readonly load: () => Promise<DescService>;
}

/** Returns the service of a version other than the native one. */
export function laterService({
  service,
  version,
  versions,
}: Pick<OlderServiceOptions, "service" | "version" | "versions">): LaterService {
  const load = async (): Promise<DescService> => {
    const loaded = (await versions.ready()).get(version)?.service;
    if (loaded === undefined) throw new TypeError(`version ${version} is loaded without ${service.typeName}`);
    return loaded.service;
  };
  return { typeName: service.typeName, load };
}

type ReflectionAnswer = ServerReflectionResponse["messageResponse"];

/**
 * Returns the services of server reflection, v1 and v1alpha, so that clients such as grpcurl need no proto file.
 * Reflection lists the `services` and itself. Files are returned as compiled, with the HTTP rules and the REQUIRED
 * marks.
 */
export function reflectionServices(services: readonly (DescService | LaterService)[]): InternalService[] {
  const listed = [...services, ServerReflection, ServerReflectionAlpha];
  let known: KnownFiles | undefined;
  const answer = async (request: Message): Promise<ReflectionAnswer> => {
    // Both versions have the same fields.
    const { messageRequest: question } = request as ServerReflectionRequest;
    if (question.case === "listServices") {
      return reflectionAnswer("listServicesResponse", { service: listed.map(({ typeName: name }) => ({ name })) });
    }
    known ??= new KnownFiles(await Promise.all(listed.map(loadedService)));
    return answerTo(question, known);
  };
  const versions = [
    [ServerReflection, ServerReflectionResponseSchema],
    [ServerReflectionAlpha, ServerReflectionResponseAlphaSchema],
  ] as const;
  return versions.map(([service, schema]) => ({
    service,
    methods: {
      ServerReflectionInfo: {
        kind: "bidi_streaming",
        answer: async (request) => {
          const originalRequest = request as ServerReflectionRequest;
          const fields = { validHost: originalRequest.host, originalRequest, messageResponse: await answer(request) };
          return create(schema as typeof ServerReflectionResponseSchema, fields);
        },
      },
    },
  }));
}

/** Loads the descriptor, which only requests for files need, not the list of names. */
async function loadedService(service: DescService | LaterService): Promise<DescService> {
  return "load" in service ? service.load() : service;
}

function answerTo(question: ServerReflectionRequest["messageRequest"], known: KnownFiles): ReflectionAnswer {
  try {
    switch (question.case) {
      case "fileByFilename":
        return filesAnswer(known, known.named(question.value));
      case "fileContainingSymbol":
        return filesAnswer(known, known.symbol(question.value));
      case "fileContainingExtension":
        return filesAnswer(known, known.extension(question.value.containingType, question.value.extensionNumber));
      case "allExtensionNumbersOfType": {
        const extensionNumber = known.extensionNumbers(question.value);
        return reflectionAnswer("allExtensionNumbersResponse", { baseTypeName: question.value, extensionNumber });
      }
      default:
        throw new StatusError(StatusCode.UNIMPLEMENTED, "this server does not support the reflection request");
    }
  } catch (refusal) {
    if (!(refusal instanceof StatusError)) throw refusal;
    return reflectionAnswer("errorResponse", { errorCode: refusal.code, errorMessage: refusal.message });
  }
}

/** Returns an answer. `create()` accepts plain objects as messages. */
function reflectionAnswer(name: Exclude<ReflectionAnswer["case"], undefined>, value: object): ReflectionAnswer {
  return { case: name, value } as ReflectionAnswer;
}

/** Returns a file followed by all its imports, so that clients need not request each. */
function filesAnswer(known: KnownFiles, file: DescFile): ReflectionAnswer {
  return reflectionAnswer("fileDescriptorResponse", { fileDescriptorProto: known.withImports(file) });
}

/** The files of services and all their imports, by each key that a client may request. */
class KnownFiles {
  readonly #files = new Map<string, DescFile>();
  readonly #bytes = new Map<DescFile, Uint8Array>();
  readonly #symbols = new Map<string, DescFile>();
  /** Files by extended message and number. Every message has an entry. */
  readonly #extensions = new Map<string, Map<number, DescFile>>();

  constructor(services: readonly DescService[]) {
    for (const file of [...services.map((service) => service.file), ...errorFiles]) this.#add(file);
  }

  named(name: string): DescFile {
    return found(this.#files.get(name), `File not found: ${name}`);
  }

  symbol(name: string): DescFile {
    return found(this.#symbols.get(name), `Symbol not found: ${name}`);
  }

  extension(type: string, number: number): DescFile {
    return found(this.#extensions.get(type)?.get(number), `Extension not found: ${number} of ${type}`);
  }

  extensionNumbers(type: string): number[] {
    return [...found(this.#extensions.get(type), `Type not found: ${type}`).keys()];
  }

  withImports(file: DescFile): Uint8Array[] {
    const all = new Set([file]);
    for (const each of all) {
      // The loop also visits the files that it adds.
      for (const dependency of each.dependencies) all.add(dependency);
    }
    return [...all].map((each) => this.#bytesOf(each));
  }

  #bytesOf(file: DescFile): Uint8Array {
    const bytes = this.#bytes.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
    this.#bytes.set(file, bytes);
    return bytes;
  }

  #add(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    this.#files.set(file.proto.name, file);
    for (const dependency of file.dependencies) this.#add(dependency);
    for (const type of nestedTypes(file)) {
      this.#symbols.set(type.typeName, file);
      if (type.kind === "extension") this.#numbersOf(type.extendee.typeName).set(type.number, file);
      if (type.kind === "message") this.#numbersOf(type.typeName);
      for (const name of qualifiedNames(type)) this.#symbols.set(name, file);
    }
  }

  #numbersOf(type: string): Map<number, DescFile> {
    const numbers = this.#extensions.get(type) ?? new Map<number, DescFile>();
    this.#extensions.set(type, numbers);
    return numbers;
  }
}

type DescType = ReturnType<typeof nestedTypes> extends Iterable<infer Type> ? Type : never;

/** Returns the full names of fields, oneofs, methods, and enum values, whose scope is that of their enum. */
function qualifiedNames(type: DescType): string[] {
  if (type.kind === "message") return [...type.fields, ...type.oneofs].map(({ name }) => `${type.typeName}.${name}`);
  if (type.kind === "service") return type.methods.map(({ name }) => `${type.typeName}.${name}`);
  if (type.kind !== "enum") return [];
  const scope = type.typeName.slice(0, type.typeName.lastIndexOf(".") + 1);
  return type.values.map(({ name }) => scope + name);
}

function found<T>(thing: T | undefined, otherwise: string): T {
  if (thing === undefined) throw new StatusError(StatusCode.NOT_FOUND, otherwise);
  return thing;
}
