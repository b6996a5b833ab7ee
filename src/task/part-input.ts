import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** One part of a message or artifact (specification 4.1.6). `mediaType` is a media type such as `image/png`. */
export type PartInput = {
  readonly mediaType?: string;
  readonly filename?: string;
  readonly metadata?: JsonObject;
} & (
  | { readonly text: string }
  | { readonly data: JsonValue }
  | { readonly raw: Uint8Array }
  | { readonly url: string }
);
