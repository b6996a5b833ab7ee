import { create, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AService, SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import * as sockets from "../../src/outgoing/socket-failure.js";
import * as webSockets from "../../src/outgoing/socket-failure-web.js";
import * as reading from "../../src/wire/binary-reader.js";
import * as webReading from "../../src/wire/binary-reader-web.js";
import * as binary from "../../src/wire/binary-writer.js";
import * as webBinary from "../../src/wire/binary-writer-web.js";
import { isLeftToLibrary } from "../../src/wire/field-rules.js";
import * as library from "../../src/wire/library-json.js";
import * as web from "../../src/wire/library-json-web.js";

/** All types that a client can meet. */
function reached(): DescMessage[] {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage): void => {
    if (found.has(desc)) return;
    found.add(desc);
    const messages = desc.fields.map((field: DescField) => field.message).filter((each) => each !== undefined);
    for (const message of messages) visit(message);
  };
  for (const { input, output } of A2AService.methods) {
    visit(input);
    visit(output);
  }
  return [...found];
}

describe("JSON without that of protobuf-es", () => {
  it("has everything that browsers need: no type of the contract is left to the library", () => {
    expect(reached().length).toBeGreaterThan(30);
    expect(reached().filter(isLeftToLibrary)).toEqual([]);
  });

  it("has the same names", () => {
    expect(Object.keys(web)).toEqual(Object.keys(library));
  });
});

describe("what stands for other files in browsers", () => {
  it("has their names, and reads and writes the same", () => {
    expect(Object.keys(webReading)).toEqual(Object.keys(reading));
    expect(Object.keys(webBinary)).toEqual(Object.keys(binary));
    expect(Object.keys(webSockets)).toEqual(Object.keys(sockets));
    const metadata = { text: "ü", list: [1, null, { a: true }] };
    const parts = [{ content: { case: "raw" as const, value: new Uint8Array(300) } }];
    const message = create(SendMessageRequestSchema, { message: { messageId: "m", role: 1, parts, metadata } });
    const sorts = ["binaryWriter", "envelopeWriter"] as const;
    for (const sort of sorts) {
      const [ours, theirs] = [binary, webBinary].map((from) => from[sort](SendMessageRequestSchema)(message));
      expect(new Uint8Array(theirs ?? [])).toEqual(new Uint8Array(ours ?? []));
    }
    const bytes = new Uint8Array(binary.binaryWriter(SendMessageRequestSchema)(message));
    for (const from of [reading, webReading]) {
      expect(from.binaryReader(SendMessageRequestSchema)(bytes)).toEqual(message);
      expect(() => from.binaryReader(SendMessageRequestSchema, 1)(bytes)).toThrow();
    }
  });
});
