import { describe, expect, it } from "vitest";
import type { Turn } from "../../src/agent/agent.js";
import { chatMessages, modelMessages, responsesInput } from "../../src/ai/index.js";
import type { PlainPart } from "../../src/task/plain.js";

interface Entry {
  readonly role: "user" | "agent";
  readonly parts: readonly PlainPart[];
  readonly artifactId?: string;
}

/** A turn with a conversation. */
function turnOf(...talk: readonly Entry[]): Turn {
  const messages = async ({ limit = 50 }: { limit?: number } = {}): Promise<Entry[]> => talk.slice(-limit);
  return { conversation: { messages } } as unknown as Turn;
}

const user = (...parts: readonly PlainPart[]): Entry => ({ role: "user", parts });
const agent = (...parts: readonly PlainPart[]): Entry => ({ role: "agent", parts });
const bytes = new Uint8Array([1, 2, 3]);

describe("modelMessages()", () => {
  it("gives texts of both sides, and data as JSON", async () => {
    const turn = turnOf(
      user({ text: "Hello." }),
      agent({ text: "Which day?" }),
      user({ text: "This one:" }, { data: { day: 1 } }),
    );
    expect(await modelMessages(turn)).toEqual([
      { role: "user", content: "Hello." },
      { role: "assistant", content: "Which day?" },
      { role: "user", content: 'This one:\n{"day":1}' },
    ]);
  });

  it("joins adjacent messages of one side, and begins with the user", async () => {
    const turn = turnOf(
      agent({ text: "Old." }),
      user({ text: "a" }),
      user({ text: "b" }),
      agent({ text: "c" }),
      agent({ text: "" }),
      agent({ data: [1] }),
      user({ text: "d" }),
    );
    expect(await modelMessages(turn)).toEqual([
      { role: "user", content: "a\nb" },
      { role: "assistant", content: "c\n[1]" },
      { role: "user", content: "d" },
    ]);
  });

  it("joins the pieces of an artifact's text", async () => {
    const parts = [{ text: "" }, { text: "On" }, { text: "e." }, { data: [1] }, { text: "Two." }, { text: "" }];
    const turn = turnOf(user({ text: "a" }), { ...agent(...parts), artifactId: "1" }, user({ text: "b" }));
    expect((await modelMessages(turn))[1]).toEqual({ role: "assistant", content: "One.\n[1]\nTwo." });
  });

  it("gives the user's images, documents, audio and video as files, inline or by URL", async () => {
    const turn = turnOf(
      user(
        { text: "Look." },
        { file: { bytes, mediaType: "image/png", name: "a.png" } },
        { file: { url: "https://example.com/b.jpg?x=1" } },
        { file: { bytes, name: "c.pdf" } },
        { file: { bytes, mediaType: "audio/wav; codecs=1" } },
      ),
    );
    expect(await modelMessages(turn)).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "file", data: bytes, mediaType: "image/png", filename: "a.png" },
          { type: "file", data: new URL("https://example.com/b.jpg?x=1"), mediaType: "image/jpeg" },
          { type: "file", data: bytes, mediaType: "application/pdf", filename: "c.pdf" },
          { type: "file", data: bytes, mediaType: "audio/wav" },
        ],
      },
    ]);
  });

  it("gives the content of text files, and mentions what models do not take", async () => {
    const csv = new TextEncoder().encode("a,b\n1,2");
    const turn = turnOf(
      user(
        { file: { bytes: csv, mediaType: "text/csv", name: "t.csv" } },
        { file: { bytes, mediaType: "application/zip", name: "z.zip" } },
        { file: { url: "file:///etc/passwd", mediaType: "image/png" } },
        { file: { url: "https://", mediaType: "image/png" } },
      ),
      agent({ file: { bytes, mediaType: "image/png", name: "mine.png" } }),
      user({ text: "Thanks." }),
    );
    expect(await modelMessages(turn)).toEqual([
      {
        role: "user",
        content: [
          '[File "t.csv" (text/csv, 7 bytes)]\na,b\n1,2',
          '[File "z.zip" (application/zip, 3 bytes)]',
          "[File (image/png, file:///etc/passwd)]",
          "[File (image/png, https://)]",
        ].join("\n"),
      },
      { role: "assistant", content: '[File "mine.png" (image/png, 3 bytes)]' },
      { role: "user", content: "Thanks." },
    ]);
  });

  it("leaves out older messages above the number and the size, but never that of the turn", async () => {
    const talk = Array.from({ length: 5 }, (_, n) => (n % 2 === 0 ? user : agent)({ text: `${n}`.repeat(100) }));
    const roles = async (options: object): Promise<string[]> =>
      (await modelMessages(turnOf(...talk), options)).map(({ content }) => String(content).slice(0, 1));
    expect(await roles({})).toEqual(["0", "1", "2", "3", "4"]);
    expect(await roles({ limit: 3 })).toEqual(["2", "3", "4"]);
    expect(await roles({ limit: 2 })).toEqual(["4"]);
    expect(await roles({ maxBytes: 350 })).toEqual(["2", "3", "4"]);
    expect(await roles({ maxBytes: 10 })).toEqual(["4"]);
  });

  it("rejects wrong options", async () => {
    await expect(modelMessages(turnOf(user({ text: "a" })), { limit: 0 })).rejects.toThrow(
      "The options of the messages: limit is 0, not a whole number from 1 to 1000.",
    );
  });
});

const files = turnOf(
  user(
    { text: "Look." },
    { file: { bytes, mediaType: "image/png" } },
    { file: { url: "https://example.com/b.jpg" } },
    { file: { bytes, mediaType: "application/pdf", name: "c.pdf" } },
    { file: { url: "https://example.com/d.pdf" } },
    { file: { bytes, mediaType: "audio/mpeg" } },
    { file: { bytes, mediaType: "audio/ogg" } },
  ),
  agent({ text: "Nice." }),
  user({ data: true }),
);

describe("chatMessages()", () => {
  it("gives messages of OpenAI's chat completions", async () => {
    expect(await chatMessages(files)).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "image_url", image_url: { url: "https://example.com/b.jpg" } },
          { type: "file", file: { filename: "c.pdf", file_data: "data:application/pdf;base64,AQID" } },
          { type: "text", text: "[File (application/pdf, https://example.com/d.pdf)]" },
          { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
          { type: "text", text: "[File (audio/ogg, 3 bytes)]" },
        ],
      },
      { role: "assistant", content: "Nice." },
      { role: "user", content: "true" },
    ]);
  });
});

describe("responsesInput()", () => {
  it("gives the input of OpenAI's responses", async () => {
    expect(await responsesInput(files)).toEqual([
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look." },
          { type: "input_image", image_url: "data:image/png;base64,AQID", detail: "auto" },
          { type: "input_image", image_url: "https://example.com/b.jpg", detail: "auto" },
          { type: "input_file", filename: "c.pdf", file_data: "data:application/pdf;base64,AQID" },
          { type: "input_file", file_url: "https://example.com/d.pdf" },
          { type: "input_text", text: "[File (audio/mpeg, 3 bytes)]" },
          { type: "input_text", text: "[File (audio/ogg, 3 bytes)]" },
        ],
      },
      { role: "assistant", content: "Nice." },
      { role: "user", content: "true" },
    ]);
  });
});
