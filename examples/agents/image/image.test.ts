import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decode, encode } from "fast-png";
import { filesOf, TaskState, textOf } from "parley-a2a";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AgentTest, testAgent } from "../../../src/testing/index.js";
import { FirstPythonClient, javaScriptHost, pythonHost } from "../../../test/version/v0.1/first-hosts.js";
import { type OfflineModel, startOfflineModel } from "../offline-model/server.js";
import { type Served, serve } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { describeWireExamples } from "../test-support/wire-examples.js";
import { imageAgent } from "./image.js";
import { openPictures, type Pictures } from "./pictures.js";
import { rules } from "./rules.js";

let folder: string;
let model: OfflineModel;
let pictures: Pictures;
let t: AgentTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "image-agent-"));
  pictures = await openPictures({ folder, port: 0 });
});
beforeEach(async () => {
  model = await startOfflineModel({ rules });
  const address = { baseURL: model.baseURL, apiKey: "none", model: "offline" };
  t = testAgent(await imageAgent({ model: address, pictures }));
});
afterEach(async () => {
  await t.close();
  await model.close();
});
afterAll(async () => {
  pictures.close();
  await rm(folder, { recursive: true });
});

type Task = Awaited<ReturnType<AgentTest["send"]>>;

const png = (task: Task): Uint8Array => filesOf(task)[0]?.bytes ?? new Uint8Array();
const idOf = (task: Task): string => task.artifacts[0]?.artifactId ?? "";
const stateOf = (task: Task): string => TaskState[task.status?.state ?? 0] ?? "";

/** The color at a place of a PNG, from 0 to 1. */
function colorAt(bytes: Uint8Array, x: number, y: number): string {
  const { width, height, data, channels } = decode(bytes);
  const at = (Math.floor(y * height) * width + Math.floor(x * width)) * channels;
  return `#${[...data.slice(at, at + 3)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const RED = "#d93025";
const GREEN = "#2e7d32";

/** A blue picture that the agent did not make. */
function foreign(): Uint8Array {
  const data = Uint8Array.from({ length: 40 * 20 * 3 }, (_, i) => (i % 3 === 2 ? 255 : 0));
  return encode({ width: 40, height: 20, channels: 3, data });
}

describe("a picture", () => {
  it("is made and refined as in Life of a task: another task, the same name, another id", async () => {
    const boat = await t.send("Generate an image of a sailboat on the ocean.");
    const [file] = filesOf(boat);
    expect(file).toMatchObject({ name: "sailboat on the sea.png", mediaType: "image/png" });
    expect(idOf(boat)).toMatch(/^[0-9a-f]{32}$/);
    const refinement = { contextId: boat.contextId, referenceTaskIds: [boat.id] };
    const red = await t.send("Please modify the sailboat to be red.", refinement);
    expect(red.artifacts[0]?.name).toBe(boat.artifacts[0]?.name);
    expect([idOf(red) === idOf(boat), red.id === boat.id]).toEqual([false, false]);
    expect([colorAt(png(boat), 0.5, 0.72), colorAt(png(red), 0.5, 0.72)]).toEqual(["#8a5a33", RED]);
    const elsewhere = await t.send("Please modify the sailboat to be red.", { referenceTaskIds: [boat.id] });
    expect(png(elsewhere)).toEqual(png(red));
    // The sea is still there.
    expect(colorAt(png(red), 0.02, 0.98)).toBe(colorAt(png(boat), 0.02, 0.98));
  });

  it("is the newest of the conversation if none is named, and belongs to its conversation alone", async () => {
    const { contextId } = await t.send("a red circle");
    await t.send("draw a new image of a green square", { contextId });
    const edited = await t.send("make it smaller", { contextId });
    expect([colorAt(png(edited), 0.5, 0.5), colorAt(png(edited), 0.25, 0.5)]).toEqual([GREEN, "#ffffff"]);
    const other = await t.send("make it smaller");
    expect(stateOf(other)).toBe("INPUT_REQUIRED");
  });

  it("may be named by its id in the text, or in the metadata of a part", async () => {
    const first = await t.send("a red circle");
    const { contextId } = first;
    await t.send("draw a new image of a green square", { contextId });
    const byText = await t.send(`make the background of id ${idOf(first)} black`, { contextId });
    expect(colorAt(png(byText), 0.5, 0.5)).toBe(RED);
    expect(colorAt(png(byText), 0.02, 0.02)).toBe("#1b1b1b");
    const reference = { artifactId: idOf(first), taskId: first.id };
    const byPart = await t.send([{ text: "make it smaller", metadata: reference }], { contextId });
    expect(colorAt(png(byPart), 0.5, 0.5)).toBe(RED);
    const unknown = await t.send(`make id ${"0".repeat(32)} smaller`, { contextId });
    expect(stateOf(unknown)).toBe("INPUT_REQUIRED");
  });

  it("is asked for where several are referenced", async () => {
    const circle = await t.send("a red circle");
    const { contextId } = circle;
    const square = await t.send("draw a new image of a green square", { contextId });
    const referenceTaskIds = [circle.id, square.id];
    const asked = await t.send("make it smaller", { contextId, referenceTaskIds });
    expect(textOf(asked.status?.message)).toContain(idOf(square));
    const done = await t.send(`id ${idOf(circle)}`, { task: asked });
    expect([stateOf(done), colorAt(png(done), 0.5, 0.5)]).toEqual(["COMPLETED", RED]);
  });

  it("that a client sends is drawn upon, and drawn upon again", async () => {
    const file = { bytes: foreign(), name: "blue.png", mediaType: "image/png" };
    const one = await t.send([{ text: "add a red circle to this" }, { file }]);
    expect([colorAt(png(one), 0.8, 0.2), colorAt(png(one), 0.2, 0.8)]).toEqual([RED, "#0000ff"]);
    const two = await t.send("add a green square to it as svg", { contextId: one.contextId });
    const svg = Buffer.from(png(two)).toString();
    expect(svg).toContain('<image width="40" height="20"');
    expect(svg).toContain(GREEN);
  });

  it.each([
    ["text", "I can edit PNG files, and the SVG files that I made."],
    ["\x89PNG", "This is not a PNG file."],
    [`\x89PNG${"\0".repeat(12)}\x7f${"\0".repeat(40)}`, "A picture may have 1024 pixels on each side."],
    [`\x89PNG${"\0".repeat(40)}`, "This PNG file cannot be read."],
  ])("that cannot be read is refused with the reason: %j", async (content, reason) => {
    const file = { bytes: Buffer.from(content, "latin1"), mediaType: "image/png" };
    const task = await t.send([{ text: "make it red" }, { file }]);
    expect([stateOf(task), textOf(task.status?.message)]).toEqual(["FAILED", reason]);
  });

  it("is handed out by URL where its user wants that, and is edited by it", async () => {
    const linked = await t.send("a red circle, as a link");
    const { contextId } = linked;
    const [file] = filesOf(linked);
    const response = await fetch(file?.url ?? "");
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(colorAt(new Uint8Array(await response.arrayBuffer()), 0.5, 0.5)).toBe(RED);
    expect((await fetch(new URL("/../image.test.ts", file?.url))).status).toBe(404);
    const edited = await t.send("make it green", { contextId });
    expect(colorAt(png(edited), 0.5, 0.5)).toBe(GREEN);
    const byUrl = await t.send([{ text: "make it smaller" }, { url: file?.url ?? "", mediaType: "image/png" }]);
    expect(colorAt(png(byUrl), 0.5, 0.5)).toBe(RED);
    const url = "http://127.0.0.1:1/x.png";
    const refused = await t.send([{ text: "make it red" }, { url, mediaType: "image/png" }]);
    expect(textOf(refused.status?.message)).toContain("I do not fetch pictures from other servers");
  });

  it("has the format that the client accepts, or that the text names", async () => {
    const svg = await t.send("a red circle", { acceptedOutputModes: ["text", "image/svg+xml"] });
    expect(filesOf(svg)[0]?.mediaType).toBe("image/svg+xml");
    const edited = await t.send("make it green, as png", { contextId: svg.contextId });
    expect(colorAt(png(edited), 0.5, 0.5)).toBe(GREEN);
    const text = await t.send("a red circle", { acceptedOutputModes: ["text"] });
    expect(filesOf(text)[0]?.mediaType).toBe("image/png");
    const refused = t.send("a red circle", { acceptedOutputModes: ["video/mp4"] });
    await expect(refused).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED" });
  });

  it("is asked for until there is something to draw", async () => {
    const asked = await t.send("Draw something nice.");
    expect([stateOf(asked), textOf(asked.status?.message)]).toEqual([
      "INPUT_REQUIRED",
      expect.stringContaining("What shall I draw?"),
    ]);
    const done = await t.send("three stars", { task: asked });
    expect([stateOf(done), done.artifacts[0]?.name]).toEqual(["COMPLETED", "star"]);
  });
});

describe("the agent", () => {
  it("fails as the original did where its model fails", async () => {
    await model.close();
    const failed = await t.send("a red circle");
    expect(textOf(failed.status?.message)).toBe("Error generating image, please try again.");
    model = await startOfflineModel({ rules });
  });

  it("does not ask the model again after a crash, and ends with the same picture", async () => {
    let id = "";
    for await (const { payload } of t.stream("a red circle")) {
      if (payload.case === "task") id = payload.value.id;
      if (payload.case === "artifactUpdate") break;
    }
    await t.crash();
    const done = await t.settled(id);
    expect([stateOf(done), done.artifacts.length, model.requests.length]).toEqual(["COMPLETED", 1, 1]);
  });
});

describe("the agent over its bindings and versions", () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(await imageAgent());
  });
  afterAll(() => served.close());

  describeTalks(
    () => served,
    [
      {
        title: "draws a picture and changes it",
        exchanges: [
          { says: "Draw something.", state: "input-required" },
          { says: "A red circle.", artifacts: { circle: "" }, progress: ["Drawing…"] },
          { says: "Make it green.", artifacts: { circle: "" } },
        ],
      },
    ],
  );
  describeWireExamples(new URL("README.md", import.meta.url), () => served);

  type Json = Record<string, unknown>;

  /** The file of a task of 0.1. */
  const fileIn = (task: Json): { name: string; mimeType: string; bytes: string } => {
    const [artifact] = task.artifacts as { parts: { file: { name: string; mimeType: string; bytes: string } }[] }[];
    return artifact?.parts[0]?.file as { name: string; mimeType: string; bytes: string };
  };
  const drawn = (task: Json): string => colorAt(Buffer.from(fileIn(task).bytes, "base64"), 0.5, 0.5);
  const textIn = (task: Json): string => JSON.stringify((task.status as Json).message);

  it("draws for the first Python host: in the session, by the id in the text, and upon a file without a type", async () => {
    const client = await FirstPythonClient.resolve(served.url);
    const [red, green] = await pythonHost(client, ["a red circle", "make it green"], { session: "s" });
    expect([drawn(red?.task ?? {}), drawn(green?.task ?? {})]).toEqual([RED, GREEN]);
    expect(fileIn(red?.task ?? {})).toMatchObject({ name: "circle.png", mimeType: "image/png" });
    const id = /id ([0-9a-f]{32})/.exec(textIn(red?.task ?? {}))?.[1];
    const attach = { name: "blue.png", bytes: foreign() };
    const prompts = [`make id ${id} smaller`, { prompt: "add a red square to this", attach }];
    const [smaller, upon] = await pythonHost(client, prompts, { session: "s" });
    expect(drawn(smaller?.task ?? {})).toBe(RED);
    expect(drawn(upon?.task ?? {})).toBe("#0000ff");
  });

  it("goes on with the picture of a task that is over, for the first JavaScript host", async () => {
    const [red, green, asked] = await javaScriptHost(served.url, [
      "a red circle",
      "make it green",
      "/new",
      "make it blue",
    ]);
    const colors = [red, green].map((events) =>
      drawn({ artifacts: events?.flatMap(({ artifact }) => artifact ?? []) }),
    );
    expect(colors).toEqual([RED, GREEN]);
    expect(asked?.at(-1)).toMatchObject({ status: { state: "input-required" }, final: true });
  });
});

describeKills({
  module: fileURLToPath(new URL("agent.ts", import.meta.url)),
  rules,
  says: ["Draw something.", "A red circle.", "Make it green."],
});
