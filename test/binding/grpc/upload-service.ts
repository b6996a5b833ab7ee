import { create, createFileRegistry, type DescService } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** A service with a client-streaming method, because the contract has none. */
export function uploadService(): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: "files.proto",
    package: "test",
    syntax: "proto3",
    messageType: [{ name: "Piece" }],
    service: [
      {
        name: "Files",
        method: [
          { name: "Upload", inputType: ".test.Piece", outputType: ".test.Piece", clientStreaming: true },
          { name: "Fetch", inputType: ".test.Piece", outputType: ".test.Piece" },
        ],
      },
    ],
  });
  const service = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] })).getService("test.Files");
  if (service === undefined) throw new Error("test.Files is not in its file");
  return service;
}
