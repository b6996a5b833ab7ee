import { createInterface } from "node:readline";
import { start } from "./server.js";

const { url, server, missing, add, stop } = await start(Number(process.env.PORT ?? 10_010), process.argv.slice(2));
process.stdout.write(`The host is at ${url}. It knows: ${server.remoteAgents.names.join(", ") || "no agent"}.\n`);
for (const each of missing) process.stdout.write(`Not added: ${each}\n`);
process.stdout.write("Paste the address of another agent to add it. Ctrl-C ends the host.\n");

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line.trim() === "") return;
  add(line.trim()).then(
    (name) => process.stdout.write(`Added ${name}.\n`),
    (error: Error) => process.stdout.write(`Not added: ${error.message}\n`),
  );
});
process.once("SIGINT", () => void stop().then(() => process.exit()));
