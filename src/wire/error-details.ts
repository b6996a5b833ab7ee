import { create, type DescMessage, fromBinary, type JsonObject, type Message, toJson } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.js";
import type { A2AError } from "../core/error.js";

type Detail = A2AError["details"][number];

const knownTypes = new Map<string, DescMessage>(
  file_google_rpc_error_details.messages.map((desc) => [desc.typeName, desc]),
);

/**
 * The details of an error as JSON, each with its `@type` as ProtoJSON has it for google.protobuf.Any (specification 9.5,
 * 11.6): ErrorInfo first, BadRequest and RetryInfo behind it where there are any.
 */
export function errorDetails(error: A2AError): JsonObject[] {
  return error.details.flatMap((detail) => {
    const unpacked = unpack(detail);
    return unpacked === undefined ? [] : [anyJson(...unpacked)];
  });
}

function anyJson(desc: DescMessage, message: Message): JsonObject {
  return { "@type": `type.googleapis.com/${desc.typeName}`, ...(toJson(desc, message) as JsonObject) };
}

/** The message of a detail. One that came from elsewhere in binary, of an unknown type, has no JSON form. */
function unpack(detail: Detail): [DescMessage, Message] | undefined {
  if ("desc" in detail) return [detail.desc, create(detail.desc, detail.value)];
  const desc = knownTypes.get(detail.type);
  return desc && [desc, fromBinary(desc, detail.value)];
}
