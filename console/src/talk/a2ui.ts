import type { JsonValue } from "@bufbuild/protobuf";
import type { AgentCard, Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { dataOf } from "../../../src/client/web.js";

/** Start of the URIs of the A2UI extension, and the versions whose messages the renderer reads. */
const EXTENSION = /^https:\/\/a2ui\.org\/a2a-extension\/a2ui\/v0\.9(?:\.1)?$/;

/** Media types of data parts with messages of A2UI. */
const MEDIA_TYPE = /^application\/(?:json\+a2ui|a2ui\+json)$/;

export const A2UI_MEDIA_TYPE = "application/a2ui+json";

/** Returns the URI by which an agent offers surfaces; undefined if it does not, or in another version. */
export function a2uiExtensionOf({ capabilities }: AgentCard): string | undefined {
  return capabilities?.extensions.findLast(({ uri }) => EXTENSION.test(uri))?.uri;
}

/** Returns the messages for surfaces in a part; undefined for any other part. */
export function a2uiMessagesOf(part: Part): readonly JsonValue[] | undefined {
  if (part.content.case !== "data") return undefined;
  const type = part.metadata?.mimeType;
  if (!MEDIA_TYPE.test(part.mediaType) && !(typeof type === "string" && MEDIA_TYPE.test(type))) return undefined;
  const [value] = dataOf({ parts: [part] });
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value : [value];
}
