// The module that build.mjs generates.

declare module "made:worker" {
  const source: string;
  export default source;
}
