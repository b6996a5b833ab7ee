import { build } from "../../e2e/support/build.js";
import { buildConsole } from "../console/build.js";

/** Builds the server that the clients call. */
export default function setup(): void {
  build();
  buildConsole();
}
