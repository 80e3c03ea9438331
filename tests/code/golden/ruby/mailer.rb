# frozen_string_literal: true

require "net/smtp"
require_relative "lib/template"

module Mail
  RETRIES = 3

  # Sends messages.
  class Mailer < Base
    include Retrying
    attr_reader :host, :port

    # @param host [String]
    def initialize(host, port: 25)
      @host = host
      @port = port
    end

    def self.default
      new("localhost")
    end

    def deliver(message)
      with_retries(RETRIES) do
        Net::SMTP.start(host, port) do |smtp|
          smtp.send_message(message.to_s, message.from, message.to)
        end
      end
      log "sent"
    end

    private

    def log(text)
      puts "[mail] #{text}"
    end
  end

  class Mail::Error < StandardError; end

  module Helpers
    def render(name, **values)
      Template.new(name).render(values)
    end
  end
end

def main
  Mail::Mailer.default.deliver(ARGV.first)
end

main if __FILE__ == $PROGRAM_NAME
