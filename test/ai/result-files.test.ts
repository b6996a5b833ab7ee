import { describe, expect, it } from "vitest";
import { splitFiles } from "../../src/ai/result-files.js";

const bytes = new Uint8Array([1, 2, 3]);

describe("splitFiles()", () => {
  it("leaves a result without files as its JSON", () => {
    const date = new Date(0);
    for (const value of ["text", 1, null, [1, { a: 2 }], { url: "https://example.com" }]) {
      expect(splitFiles(value)).toEqual({ files: [], rest: value });
    }
    expect(splitFiles(undefined)).toEqual({ files: [], rest: null });
    expect(splitFiles({ date, none: undefined })).toEqual({ files: [], rest: { date: "1970-01-01T00:00:00.000Z" } });
  });

  it("takes out files, wherever they are, and mentions them", () => {
    const result = {
      title: "A",
      file: { bytes, name: "a.png", mediaType: "image/png" },
      files: [{ url: "https://x.example/b" }],
    };
    expect(splitFiles(result)).toEqual({
      files: [{ bytes, name: "a.png", mediaType: "image/png" }, { url: "https://x.example/b" }],
      rest: { title: "A", file: '[File "a.png" (image/png, 3 bytes)]', files: ["[File (https://x.example/b)]"] },
    });
    expect(splitFiles({ bytes })).toEqual({ files: [{ bytes }], rest: "[File (3 bytes)]" });
  });

  it("takes out the files that the AI SDK generates and the images of MCP", () => {
    class GeneratedFile {
      readonly mediaType = "image/webp";
      get uint8Array(): Uint8Array {
        return bytes;
      }
    }
    expect(splitFiles({ image: new GeneratedFile() })).toEqual({
      files: [{ bytes, mediaType: "image/webp" }],
      rest: { image: "[File (image/webp, 3 bytes)]" },
    });
    const content = [
      { type: "text", text: "a" },
      { type: "image", data: "AQID", mimeType: "image/png" },
    ];
    expect(splitFiles({ content })).toEqual({
      files: [{ bytes, mediaType: "image/png" }],
      rest: { content: [{ type: "text", text: "a" }, "[File (image/png, 3 bytes)]"] },
    });
  });

  it("rejects what is not JSON", () => {
    expect(() => splitFiles({ a: 1n })).toThrow(TypeError);
  });
});
