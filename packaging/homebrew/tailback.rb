# A formula for a tap of your own. It builds the last commit of the checkout that
# HOMEBREW_TAILBACK_CHECKOUT names:
#   brew tap-new local/tap
#   cp packaging/homebrew/tailback.rb "$(brew --repository local/tap)/Formula"
#   HOMEBREW_TAILBACK_CHECKOUT="$PWD" brew install --HEAD local/tap/tailback
class Tailback < Formula
  desc "Laboratory for TCP congestion control and queue management"
  homepage "file://#{ENV.fetch("HOMEBREW_TAILBACK_CHECKOUT", Dir.pwd)}"
  license any_of: ["MIT", "Apache-2.0"]
  head "file://#{ENV.fetch("HOMEBREW_TAILBACK_CHECKOUT", Dir.pwd)}", using: :git

  depends_on "rust" => :build
  depends_on "python@3.13"

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-m", "venv", libexec
    # The tested versions of the dependencies.
    system libexec/"bin/pip", "install", "--constraint", "requirements.txt", "."
    bin.install_symlink libexec/"bin/tailback"
    generate_completions_from_executable(bin/"tailback", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    (testpath/"first.toml").write shell_output("#{bin}/tailback new")
    assert_match "Mbit/s", shell_output("#{bin}/tailback run first.toml")
  end
end
