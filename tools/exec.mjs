/**
 * Writes `exec` for the shell of Windows to where npm's scripts find programs. `npm start` begins with `exec`, so that the server
 * takes the place of npm's shell and gets its signals; every other shell has it built in.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

if (process.platform === "win32") {
  writeFileSync(fileURLToPath(new URL("../node_modules/.bin/exec.cmd", import.meta.url)), "@%*\r\n");
}
