import { type DescFile, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "../../../gen/google/rpc/status_pb.js";
import { nameMapEntries } from "./map-entry.js";
import { type GrpcService, grpcServicesOf } from "./service.js";

/** Serialized `google.protobuf.FileDescriptorProto`s by file name. */
type Files = ReadonlyMap<string, Buffer>;

/** The part of a reflection answer that holds files. */
interface ReflectionResponse {
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Uint8Array[] };
}

/** What proto-loader leaves in a method beside what grpc-js needs. */
interface LoadedMethod {
  readonly requestType?: { readonly fileDescriptorProtos?: readonly Uint8Array[] };
}

/** What the package wants of proto-loader: the files, wherever they hang. */
type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/** Not used by any method, but a client that knows them can show the details of an error (specification 10.6). */
const errorFiles: readonly DescFile[] = [file_google_rpc_status, file_google_rpc_error_details];

/**
 * Server reflection, v1 and v1alpha, so that clients such as grpcurl need no proto file. It lists the services of
 * `file`, the `others` and itself.
 *
 * The files are answered as they were compiled. The reflection package would answer with what its own model of a
 * descriptor can hold, which has no custom options: the HTTP rules and the REQUIRED marks would be lost.
 */
export function reflectionServices(file: DescFile, others: readonly GrpcService[]): GrpcService[] {
  const files = new Map<string, Buffer>();
  for (const known of [file, ...errorFiles]) collect(known, files);
  // The package serves itself from a proto file of its own; that file is found in what it would serve.
  const infrastructure = [...grpcServicesOf((server) => new ReflectionService({}).addToServer(server)), ...others];
  for (const bytes of infrastructure.flatMap(({ definition }) => filesOf(definition))) {
    const loaded = nameMapEntries(fromBinary(FileDescriptorProtoSchema, bytes));
    files.set(loaded.name, Buffer.from(toBinary(FileDescriptorProtoSchema, loaded)));
  }
  const services = [...file.services.map((s) => s.typeName), ...infrastructure.map((i) => nameOf(i.definition))];
  const reflection = new ReflectionService(packageOf(files), { services });
  return grpcServicesOf((server) => reflection.addToServer(server)).map(({ definition, implementation }) => ({
    definition: verbatim(definition, files),
    implementation,
  }));
}

function collect(file: DescFile, files: Map<string, Buffer>): void {
  if (files.has(file.proto.name)) return;
  files.set(file.proto.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
  for (const dependency of file.dependencies) collect(dependency, files);
}

function packageOf(files: Files): PackageDefinition {
  return {
    all: { format: "Protocol Buffer 3 DescriptorProto", type: {}, fileDescriptorProtos: [...files.values()] },
  };
}

/** The files that proto-loader leaves in a service definition. */
export function filesOf(definition: ServiceDefinition): readonly Uint8Array[] {
  return Object.values(definition).flatMap(
    (method: object & LoadedMethod) => method.requestType?.fileDescriptorProtos ?? [],
  );
}

/** Full name of a service, from the path of its first method. */
function nameOf(definition: ServiceDefinition): string {
  return Object.values(definition)[0]?.path.split("/")[1] ?? "";
}

/** The same service, whose answers carry the files as they were given and not as the package re-encodes them. */
function verbatim(definition: ServiceDefinition, files: Files): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(definition).map(([name, method]: [string, MethodDefinition<object, ReflectionResponse>]) => [
      name,
      { ...method, responseSerialize: (response) => method.responseSerialize(withFiles(response, files)) },
    ]),
  );
}

function withFiles(response: ReflectionResponse, files: Files): ReflectionResponse {
  const encoded = response.fileDescriptorResponse?.fileDescriptorProto;
  if (encoded === undefined) return response;
  const fileDescriptorProto = encoded.map(
    (bytes) => files.get(fromBinary(FileDescriptorProtoSchema, bytes).name) ?? bytes,
  );
  return { ...response, fileDescriptorResponse: { fileDescriptorProto } };
}
