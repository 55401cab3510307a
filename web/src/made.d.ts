// Declares the types of the module that build.mjs generates.

declare module "made:worker" {
  const source: string;
  export default source;
}
