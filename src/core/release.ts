/** Version of this package, as package.json has it (`test/core/release.test.ts`). */
export const RELEASE = "0.1.0";
