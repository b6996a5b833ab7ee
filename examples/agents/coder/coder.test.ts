import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Served, serve, taskIn } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { describeWireExamples } from "../test-support/wire-examples.js";
import { agent } from "./agent.js";
import { CodeFormat, type FilePiece } from "./code-format.js";
import { programs, testOf } from "./programs.js";
import { rules } from "./rules.js";

let served: Served;
beforeAll(async () => {
  served = await serve(agent);
});
afterAll(() => served.close());

const progress = ["Generating code..."];

/** The files of a program, by path. */
function filesOf(name: string): Record<string, string> {
  const files = programs.find((program) => program.name.test(name))?.files ?? [];
  return Object.fromEntries(files.map(({ path, content }) => [path, content]));
}
const server = filesOf("HTTP server");
const serverOn8080 = { "src/server.ts": server["src/server.ts"]?.replace("3000", "8080") ?? "" };
const handlerTest = testOf([{ language: "ts", path: "src/handler.ts", content: "" }])?.content ?? "";

describeTalks(
  () => served,
  [
    {
      title: "writes several files",
      exchanges: [
        {
          says: "Create a to-do list",
          text: "Generated files: index.html, style.css, app.js",
          artifacts: filesOf("to-do"),
          progress,
        },
      ],
    },
    {
      title: "changes files of earlier tasks under the same names",
      exchanges: [
        {
          says: "Create an HTTP server in TypeScript",
          text: "Generated files: src/handler.ts, src/server.ts",
          artifacts: server,
        },
        { says: "Listen on port 8080 instead", text: "Generated files: src/server.ts", artifacts: serverOn8080 },
        {
          says: "Add tests",
          text: "Generated files: src/handler.test.ts",
          artifacts: { "src/handler.test.ts": handlerTest },
        },
        { says: "Listen on port 8080", text: "Completed, but no files were generated.", artifacts: {} },
      ],
    },
    {
      title: "asks what to write",
      exchanges: [
        { says: "Write a program", state: "input-required", text: "What should the program do?" },
        { says: "FizzBuzz", text: "Generated files: fizzbuzz.py", artifacts: filesOf("fizzbuzz") },
      ],
    },
  ],
);

describe("a file", () => {
  it("has a name and a media type, and grows line by line", async () => {
    const params = {
      message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "FizzBuzz in Python" }] },
    };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const init = { method: "POST", headers, body: JSON.stringify(params) };
    const { task } = (await (await fetch(`${served.url}/message:send`, init)).json()) as { task: Task };
    const parts = task.artifacts[0]?.parts ?? [];
    expect(parts.length).toBeGreaterThan(5);
    for (const part of parts) expect(part).toMatchObject({ filename: "fizzbuzz.py", mediaType: "text/x-python" });
    expect(taskIn(task as never).artifacts[0]?.text).toBe(filesOf("fizzbuzz")["fizzbuzz.py"]);
  });

  interface Task {
    readonly artifacts: readonly { readonly parts: readonly { readonly text: string }[] }[];
  }
});

describe("CodeFormat", () => {
  const answer =
    "Here:\n\n```ts src/a.ts\nconst a = 1;\n\nexport { a };\n```\nand\n````md README.md\n```sh\nls\n```\n````\nDone.";

  it.each([1, 2, 7, 1000])("reads files of an answer in pieces of %i characters", (size) => {
    const format = new CodeFormat();
    const pieces: FilePiece[] = [];
    for (let at = 0; at < answer.length; at += size) pieces.push(...format.push(answer.slice(at, at + size)));
    pieces.push(...format.end());
    expect(format.paths).toEqual(["src/a.ts", "README.md"]);
    expect(format.text).toBe("Here:\n\nand\nDone.");
    expect(pieces).toEqual([
      { path: "src/a.ts", text: "const a = 1;\n", isFirst: true, isLast: false },
      { path: "src/a.ts", text: "\n", isFirst: false, isLast: false },
      { path: "src/a.ts", text: "export { a };\n", isFirst: false, isLast: true },
      { path: "README.md", text: "```sh\n", isFirst: true, isLast: false },
      { path: "README.md", text: "ls\n", isFirst: false, isLast: false },
      { path: "README.md", text: "```\n", isFirst: false, isLast: true },
    ]);
  });

  it("ends a file with the answer", () => {
    const format = new CodeFormat();
    expect(format.push("```py a.py\nprint(1)")).toEqual([]);
    expect(format.end()).toEqual([{ path: "a.py", text: "print(1)", isFirst: true, isLast: true }]);
  });

  it("has empty files", () => {
    const format = new CodeFormat();
    expect(format.push("```py a.py\n```\n")).toEqual([{ path: "a.py", text: "", isFirst: true, isLast: true }]);
  });
});

describeWireExamples(new URL("README.md", import.meta.url), () => served);

describeKills({
  module: new URL("agent.ts", import.meta.url).href,
  rules,
  says: ["Write a program", "An HTTP server", "Listen on port 8080 instead"],
});
