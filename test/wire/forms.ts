import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { PartSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../src/core/ids.js";
import { binaryReader } from "../../src/wire/binary-reader.js";
import { binaryWriter } from "../../src/wire/binary-writer.js";
import { jsonReader } from "../../src/wire/json-reader.js";
import { jsonWriter } from "../../src/wire/json-writer.js";
import { binaryPieces, jsonPieces } from "../../src/wire/large/large.js";
import { anyMessage, contractTypes } from "./arbitrary.js";

/** Texts of every length of a character in UTF-8, and with half a surrogate pair at either end. */
const texts = ["a", "é", "€", "😀", "a😀é", "\ud800", "\udc00x"].flatMap((unit) =>
  [1, 20, 63, 64, 65, 129, 30_000].map((count) => unit.repeat(count)),
);

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Messages that a seed stands for, in every form that the wire has of them, as text. */
export async function forms(seed: number): Promise<string[]> {
  const lines: string[] = [];
  for (const desc of contractTypes) {
    const [write, writeJson, readJson] = [binaryWriter(desc), jsonWriter(desc), jsonReader(desc)];
    for (const message of fc.sample(anyMessage(desc), { seed, numRuns: 10 })) {
      const [bytes, json] = [write(message), writeJson(message)];
      const again = binaryReader(desc)(bytes);
      lines.push(hex(bytes), json, hex(toBinary(desc, readJson(JSON.parse(json)))), writeJson(again));
    }
  }
  for (const value of texts) {
    lines.push(hex(binaryWriter(PartSchema)(create(PartSchema, { content: { case: "text", value } }))));
  }
  const raw = Uint8Array.from({ length: 100_000 }, (_, i) => i & 0xff);
  const parts = [...texts.map((value) => ({ case: "text", value })), { case: "raw", value: raw }];
  const task = create(TaskSchema, {
    artifacts: [{ artifactId: "a", parts: parts.map((content) => ({ content })) }],
  } as never);
  for (const piece of (await binaryPieces(TaskSchema, task)).pieces) lines.push(hex(piece));
  for (const piece of jsonPieces(TaskSchema, task)) lines.push(hex(piece));
  lines.push(String(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(newId())));
  return lines;
}
