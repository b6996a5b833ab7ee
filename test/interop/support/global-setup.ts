import { build } from "../../e2e/support/build.js";
import { buildConsole } from "../console/build.js";

/** Builds what the clients are going to talk to. */
export default function setup(): void {
  build();
  buildConsole();
}
