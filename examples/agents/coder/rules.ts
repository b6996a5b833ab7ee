import type { Chat, Reply, Rule } from "../offline-model/rules.js";
import { programs, type SourceFile, testOf } from "./programs.js";

/** The rules of a model that writes a few programs, and changes those that it finds in the conversation. */
export const rules: readonly Rule[] = [write, change, decline];

function write({ text }: Chat): Reply | undefined {
  const program = programs.find(({ name }) => name.test(text));
  return program && { text: `Here is the program.\n\n${program.files.map(blockOf).join("\n\n")}\n\nHave fun!` };
}

/** Changes the files that the conversation has: each in its newest state. */
function change(chat: Chat): Reply | undefined {
  const { text } = chat;
  const files = filesIn(chat);
  if (files.length === 0) return undefined;
  const test = /\btests?\b/i.test(text) ? testOf(files) : undefined;
  const port = /\bport (?:to )?(\d{1,5})\b/i.exec(text)?.[1];
  const [, from, to] =
    /\b(?:rename|replace|change) ["'`]?([^"'`\s]+)["'`]? (?:to|by|with) ["'`]?([^"'`\s]+)/i.exec(text) ?? [];
  const changed = files.flatMap((file) => {
    const content =
      port !== undefined
        ? file.content.replace(/port = \d+/, `port = ${port}`)
        : from !== undefined && to !== undefined
          ? file.content.replaceAll(from, to)
          : file.content;
    return content === file.content ? [] : [{ ...file, content }];
  });
  const all = [...changed, ...(test === undefined ? [] : [test])];
  if (all.length === 0) return { text: "I do not know how to change that." };
  return { text: `I have changed this:\n\n${all.map(blockOf).join("\n\n")}\n` };
}

function decline({ text }: Chat): Reply {
  if (/\b(write|create|make|build|generate|program|code)\b/i.test(text)) return { text: "What should the program do?" };
  return { text: "I write programs. Ask me for a FizzBuzz, an HTTP server or a to-do list." };
}

const blockOf = ({ language, path, content }: SourceFile): string => `\`\`\`${language} ${path}\n${content}\`\`\``;

/** Returns the files of the assistant's messages. A later file replaces an earlier one of the same path. */
function filesIn({ messages }: Chat): SourceFile[] {
  const said = messages.filter(({ role }) => role === "assistant").map(({ text }) => text);
  const blocks = said.join("\n").matchAll(/^```(\S+) (\S+)\n([\s\S]*?)^```$/gm);
  const files = [...blocks].map(([, language = "", path = "", content = ""]) => ({ language, path, content }));
  return files.filter(({ path }, index) => files.findLastIndex((other) => other.path === path) === index);
}
