import { build } from "../../e2e/support/build.js";

/** Compiles what the clients are going to talk to. */
export default function setup(): void {
  build();
}
