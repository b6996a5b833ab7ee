/** Level of a requirement. `FACT` is stated without a keyword. `REC` is our reading of a gap. */
export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "MAY" | "FACT" | "REC";

/** A requirement of the specification: our id, its level and its content. */
export type Requirement = readonly [id: string, level: Level, summary: string];
