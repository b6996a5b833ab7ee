import OpenAI from "openai";
import { type Agent, artifact, type ConversationMessage, completed, inputRequired, working } from "parley-a2a";
import { modelFor } from "../offline-model/model.js";
import { CodeFormat, type FilePiece, mediaTypeOf } from "./code-format.js";
import { rules } from "./rules.js";

const { baseURL, apiKey, model } = await modelFor(rules);
const openai = new OpenAI({ baseURL, apiKey });

const instructions = `You are an expert coding assistant. Provide a high-quality code sample according to the user's request.
Write each file as a fenced block whose first line has the language and the path, such as \`\`\`ts src/main.ts
Repeat whole files when you change them, under the same path. Leave out files that do not change.
If a file itself contains three backticks, use four for its fence.`;

/** Writes programs: each file is an artifact that grows while the model writes it. */
export const agent: Agent = {
  card: {
    name: "Coder Agent",
    description: "An agent that generates code from natural language requests, and streams each file.",
    version: "1.0.0",
    capabilities: { streaming: true },
    defaultOutputModes: ["text/plain", "text/*", "application/json"],
    skills: [
      {
        id: "code_generation",
        name: "Code Generation",
        description: "Generates code from a description, and changes it in later messages.",
        tags: ["code", "development", "programming"],
        examples: [
          "Write a FizzBuzz in Python.",
          "Create an HTTP server in TypeScript.",
          "Listen on port 8080 instead.",
        ],
      },
    ],
  },
  recover: "restart",
  checkOutputModes: true,
  async *execute(turn) {
    const talk = await turn.conversation.messages();
    const { paths, text } = await turn.step("model", async (signal) => {
      await turn.emit(working("Generating code..."));
      const messages = [{ role: "system" as const, content: instructions }, ...talk.map(modelMessage)];
      const stream = await openai.chat.completions.create({ model, stream: true, messages }, { signal });
      const format = new CodeFormat();
      for await (const { choices } of stream) {
        for (const piece of format.push(choices[0]?.delta.content ?? "")) await turn.emit(artifactOf(piece));
      }
      for (const piece of format.end()) await turn.emit(artifactOf(piece));
      return { paths: format.paths, text: format.text.trim() };
    });
    if (paths.length > 0) yield completed(`Generated files: ${paths.join(", ")}`);
    else if (text.endsWith("?")) yield inputRequired(text);
    else yield completed("Completed, but no files were generated.");
  },
};

/** A piece of a file. The first one replaces what an interrupted attempt has left of the file. */
const artifactOf = ({ path, text, isFirst, isLast }: FilePiece) =>
  artifact({
    id: path,
    name: path,
    parts: [{ text, filename: path, mediaType: mediaTypeOf(path) }],
    append: !isFirst,
    lastChunk: isLast,
  });

/** The files of earlier turns go to the model as it wrote them. */
function modelMessage({ role, text, name }: ConversationMessage) {
  if (role === "user") return { role, content: text };
  const language = name?.split(".").at(-1) ?? "";
  return {
    role: "assistant" as const,
    content: name === undefined ? text : `\`\`\`${language} ${name}\n${text}\`\`\``,
  };
}
