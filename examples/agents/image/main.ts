import { start } from "./server.js";

const { url, stop } = await start(Number(process.env.PORT ?? 10_001));
process.stdout.write(`The image agent is at ${url}. Ctrl-C ends it.\n`);
process.once("SIGINT", () => void stop());
process.once("SIGTERM", () => void stop());
